"""The conversation as this turn sees it, kept up to date while the turn runs.

Owns reading the log in pages and feeding each event once to the folds; when a compaction appears, reading it again from
the beginning. Must not decide anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guards import Progress
from meter import Meter
from project import Projector
from state import State
from thetis_guest import session
from thetis_guest.lenient import flag, mapping, number, objects, text

PAGE_BYTES = 1 << 20


class History:
    """The folds over the log. `seen`: the newest event's seq.

    `model`: the id of the model that will be asked; `state`: what the conversation is besides its messages, kept up to
    date; `deferred`: the tools whose definitions a result must refer to, given the newest compaction.
    """

    def __init__(self, model: str, state: State, deferred: Callable[[int], frozenset[str]] | None = None) -> None:
        self.seen = 0
        self.compacted = 0
        """The newest compaction's seq."""
        self.progress = Progress()
        self.state = state
        self.opening = ""
        """The first words of the person."""
        self.overhead = 0
        """Tokens of a request besides the messages."""
        self.meter = Meter(0)
        self._deferred = deferred or (lambda compacted: frozenset())
        self._model = model
        self._projector = Projector(model, self._deferred(0))
        self._cursor = 0
        self._whole = False
        self._wish: str | None = None
        self._wished = self._begun = 0

    def refresh(self) -> None:
        """Take in what was logged since the last time; the first time, everything."""
        while True:
            page = session.read(self._cursor, PAGE_BYTES)
            events = objects(page, "events")
            if self._whole and any(text(event, "kind") == "compaction" for event in events):
                # Written in this turn. What it stands for was taken in before; a reading from the beginning leaves it out.
                self.compacted = max(number(event, "seq") for event in events if text(event, "kind") == "compaction")
                self.again()
                continue
            for event in events:
                self._projector.feed(event)
                self.meter.feed(event)
                if number(event, "seq") > self.seen:
                    self.progress.feed(event)
                    self.state.feed(event)
                    self.seen = number(event, "seq")
                    self._hear(text(event, "kind"), mapping(event, "body"))
                if not self.opening and text(event, "kind") == "user":
                    self.opening = text(mapping(event, "body"), "text")
                if text(event, "kind") == "compaction":
                    self.compacted = max(self.compacted, number(event, "seq"))
                    self._wish = None
            cursor = number(page, "next", self._cursor)
            stuck = cursor <= self._cursor
            self._cursor = max(cursor, self._cursor)
            if stuck or flag(page, "end"):
                self._whole = True
                if self._projector.deferred == self._deferred(self.compacted):
                    return
                self.again()

    def _hear(self, kind: str, body: dict[str, Any]) -> None:
        """Whether the person wants it compacted: until that is done, or the turn that was to do it has ended by itself."""
        if kind == "setting-changed" and text(body, "name") == "compact":
            self._wish, self._wished = text(body, "value"), self.seen
        elif kind == "turn-started":
            self._begun = self.seen
        elif kind == "turn-finished" and text(body, "stopped_by") != "restarted" and self._wished < self._begun:
            self._wish = None  # there was nothing to compact, or they stopped it

    def again(self) -> None:
        """Read everything anew at the next refresh."""
        self._projector = Projector(self._model, self._deferred(self.compacted))
        self.meter = Meter(self.overhead)
        self._cursor = 0
        self._whole = False

    def take_wish(self) -> str | None:
        """What a person asked to keep when they had this conversation compacted and nothing was since; told once."""
        wish, self._wish = self._wish, None
        return wish

    def weigh(self, overhead: int) -> None:
        """Tokens of a request besides the messages, from now on."""
        self.overhead = self.meter.overhead = overhead

    def everything(self) -> list[dict[str, Any]]:
        """The events of the conversation as it stands, read again."""
        events: list[dict[str, Any]] = []
        cursor = 0
        while True:
            page = session.read(cursor, PAGE_BYTES)
            events += objects(page, "events")
            following = number(page, "next", cursor)
            if following <= cursor or flag(page, "end"):
                return events
            cursor = following

    def messages(self) -> list[dict[str, Any]]:
        """The messages of the next request."""
        return self._projector.messages()
