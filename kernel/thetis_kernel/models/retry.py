"""Asking again, around any backend: how often, how long in between, and told while it lasts.

Only what the backend says may help is asked again (`Finished.retry`), with the very same request. Before each try there
are `Waiting` items, one a second, so that a person sees the time and may stop at once. What has come of a reply is void
when the next try brings something; if none does, the longest piece there was is kept. Must not know any provider.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from thetis_kernel import crash
from thetis_kernel.models.stream import ModelBackend, guarded
from thetis_kernel.protocol.models import Counted, Finished, ModelRequest, StreamItem, Waiting

TICK_S = 1.0
Wait = Callable[[threading.Event, float], bool]
"""Waits on the event for so many seconds; whether it was set."""


class Policy(msgspec.Struct, frozen=True):
    """`tries` in all. The pause doubles from `first_s` up to `longest_s`, half of it random, never below `least_s`.

    A provider that names a time gets that, and up to `spread_s` more so that many do not come back at once; one that
    names more than `patience_s` is not waited for.
    """

    tries: int = 6
    first_s: float = 0.5
    longest_s: float = 30.0
    least_s: float = 0.25
    spread_s: float = 0.5
    patience_s: float = 300.0


POLICY = Policy()


class Retrying:
    """A backend that asks again. `wait` and `chance` (0 to 1) are seams for tests."""

    def __init__(self, backend: ModelBackend, policy: Policy = POLICY, wait: Wait = threading.Event.wait,
                 chance: Callable[[], float] = random.random) -> None:
        self._backend = backend
        self._policy = policy
        self._wait = wait
        self._chance = chance

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        """The reply, of the first try that gives one; else the last failure."""
        kept: list[dict[str, Any]] = []
        for attempt in range(1, self._policy.tries + 1):
            finished: Finished | None = None
            for item in guarded(self._backend, request, cancel):
                if isinstance(item, Finished):
                    finished = item
                else:
                    yield item
            if finished is None:
                return  # `guarded` promises that there is one, and makes one itself should this ever be reached
            pause = self._pause(attempt, finished)
            if len(msgspec.json.encode(finished.blocks)) >= len(msgspec.json.encode(kept)):
                kept = finished.blocks
            if pause is None or cancel.is_set():
                yield _with(finished, kept, attempt)
                return
            if finished.usage.total:
                yield Counted(finished.usage, finished.model)  # the try's last word: what was told while it ran was less
            crash.point("retry.pause")
            yield from self._countdown(pause, finished.detail, attempt, cancel)
            crash.point("retry.again")
            if cancel.is_set():
                yield Finished(end="cancelled", blocks=kept, detail="Stopped.", model=finished.model)
                return

    def _pause(self, attempt: int, finished: Finished) -> float | None:
        """Seconds until the next try; None when there is none."""
        policy = self._policy
        if not finished.retry or attempt >= policy.tries:
            return None
        asked = finished.retry_after_ms / 1000
        if asked > policy.patience_s:
            return None
        if asked:
            return asked + self._chance() * policy.spread_s
        whole = min(policy.longest_s, policy.first_s * 2.0 ** (attempt - 1))
        return max(policy.least_s, whole / 2 + self._chance() * whole / 2)

    def _countdown(self, seconds: float, reason: str, attempt: int, cancel: threading.Event) -> Iterator[StreamItem]:
        while seconds > 0:
            yield Waiting(delay_ms=round(seconds * 1000), reason=reason, attempt=attempt)
            step = seconds % TICK_S or TICK_S
            if self._wait(cancel, step):
                return
            seconds -= step


def _with(finished: Finished, kept: list[dict[str, Any]], attempts: int) -> Finished:
    """The last failure, with the longest piece of a reply, and how often it was tried."""
    if not finished.retry:
        return finished if finished.blocks or finished.end != "cancelled" else msgspec.structs.replace(finished, blocks=kept)
    detail = f"{finished.detail} Tried {attempts} times." if attempts > 1 else finished.detail
    return msgspec.structs.replace(finished, blocks=kept, detail=detail)
