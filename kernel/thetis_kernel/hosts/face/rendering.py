"""Draw a request's events batch by batch; when a guest stumbles over one event, find it and leave only that one out."""

from __future__ import annotations

from collections.abc import Callable

from thetis_kernel.errors import GuestError
from thetis_kernel.hosts.face.batches import Entry, answers, argument, batches, entries
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.face import FaceEvent

MAX_EXTRA_CALLS = 16
"""Guest calls one request may spend on finding bad events: enough for two among fifty."""
_OF_THE_INPUT = frozenset({"error", "type"})
"""Failures that may be one event's fault. A trap, a timeout or a memory limit is the guest's, and would only cost more."""

Call = Callable[[str], str]
"""render-events of the guest: events JSON to blocks JSON; raises GuestError."""


def render(events: list[FaceEvent], call: Call) -> list[RenderedEvent]:
    """The events the guest could draw, in order. Raises GuestError when it drew none of those it was given."""
    drawing = _Drawing(call)
    found = entries(events)
    for batch in batches(found):
        drawing.batch(batch)
    if found and not drawing.drawn:
        raise drawing.failure or GuestError("render_events() drew none of the events it was given.", kind="type")
    return [drawing.drawn[event.seq] for event in events if event.seq in drawing.drawn]


class _Drawing:
    def __init__(self, call: Call) -> None:
        self._call = call
        self._extra = MAX_EXTRA_CALLS
        self.drawn: dict[int, RenderedEvent] = {}
        self.failure: GuestError | None = None

    def batch(self, batch: list[Entry]) -> None:
        try:
            self.drawn.update(answers(self._call(argument(batch)), batch))
        except ValueError as exc:
            self.failure = GuestError(f"{exc}.", kind="type")
        except GuestError as exc:
            if exc.kind not in _OF_THE_INPUT:
                raise
            self.failure = exc
            if len(batch) > 1:
                self._halves(batch)

    def _halves(self, batch: list[Entry]) -> None:
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            if self._extra > 0:
                self._extra -= 1
                self.batch(half)
