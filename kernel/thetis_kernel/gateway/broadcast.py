"""Who hears what: clients subscribe to conversations; deltas may be dropped for a slow one, events are re-read by it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from thetis_kernel.errors import PeerGone
from thetis_kernel.protocol.client import Delta, EventStored, Notice
from thetis_kernel.protocol.events import ToolResult
from thetis_kernel.protocol.wire import Tell
from thetis_kernel.scrub.scrubber import Live, Scrubber


class Hearer(Protocol):
    """A client's channel, as far as telling goes."""

    @property
    def congested(self) -> bool:
        """Whether much is already waiting to be sent."""
        ...

    def tell(self, tell: Tell) -> None: ...


class Broadcast:
    """Subscriptions of all connected clients."""

    def __init__(self, scrubber: Scrubber | None = None) -> None:
        self._scrubber = scrubber or Scrubber()
        self._live: dict[str, Live] = {}
        self._hearers: dict[Hearer, set[str]] = {}
        self._kinds: dict[Hearer, str] = {}
        self._open: dict[Hearer, set[str]] = {}

    def join(self, hearer: Hearer) -> None:
        """A client connected; it hears only what concerns everybody until it subscribes."""
        self._hearers[hearer] = set()

    def leave(self, hearer: Hearer) -> None:
        """A client is gone."""
        self._hearers.pop(hearer, None)
        self._kinds.pop(hearer, None)
        self._open.pop(hearer, None)

    def opened(self, hearer: Hearer, session: str) -> None:
        """The client reads the conversation; a screen has it open from now on, for as long as it is connected."""
        if self.kind(hearer) == "screen":
            self._open.setdefault(hearer, set()).add(session)

    def is_open(self, session: str) -> bool:
        """Whether a connected screen has the conversation open."""
        return any(session in sessions for sessions in self._open.values())

    def attend(self, hearer: Hearer, kind: str) -> None:
        """The client says who it is: screen, run or bridge. A bridge stays one."""
        if hearer in self._hearers and self._kinds.get(hearer) != "bridge":
            self._kinds[hearer] = kind

    def kind(self, hearer: Hearer) -> str:
        """What the client said it is; `run` until it says something."""
        return self._kinds.get(hearer, "run")

    def subscribe(self, hearer: Hearer, session: str) -> None:
        """From now on the client hears of `session` ("" = all)."""
        if hearer in self._hearers:
            self._hearers[hearer].add(session)

    @property
    def listeners(self) -> int:
        """How many clients are connected."""
        return len(self._hearers)

    def publish(self, tell: Tell, session: str = "") -> None:
        """Tell every client that subscribed to `session`, or all of them when it is "". Secrets are taken out first; events
        have lost theirs on their way into the log."""
        if isinstance(tell, Notice):
            tell = msgspec.structs.replace(tell, message=self._scrubber.text(tell.message), hint=self._scrubber.text(tell.hint))
        elif isinstance(tell, Delta):
            tell = msgspec.structs.replace(tell, text=self._shown(tell))
            if not tell.text:
                return
        elif isinstance(tell, EventStored) and isinstance(tell.event.body, ToolResult):
            self._live.pop(tell.event.body.call, None)
        for hearer, sessions in list(self._hearers.items()):
            if session and session not in sessions and "" not in sessions:
                continue
            if isinstance(tell, Delta) and hearer.congested:
                continue
            try:
                hearer.tell(tell)
            except PeerGone:
                self.leave(hearer)

    def _shown(self, delta: Delta) -> str:
        """A delta's text as it may be shown. A command's output comes cut anywhere, so an unfinished word of it waits."""
        if delta.kind != "output" or not delta.call:
            return self._scrubber.text(delta.text) or delta.text
        return self._live.setdefault(delta.call, Live(self._scrubber)).feed(delta.text)
