"""The conversation as this turn sees it, kept up to date while the turn runs.

Owns reading the log in pages and feeding each event once to the folds; when a compaction appears, reading it again from
the beginning. Must not decide anything.
"""

from __future__ import annotations

from typing import Any

from guards import Progress
from meter import Meter
from project import Projector
from state import State
from thetis_guest import session
from thetis_guest.lenient import flag, number, objects, text

PAGE_BYTES = 1 << 20


class History:
    """The folds over the log. `seen`: the newest event's seq.

    `model`: the id of the model that will be asked; `state`: what the conversation is besides its messages, kept up to
    date; `overhead`: tokens of a request besides the messages.
    """

    def __init__(self, model: str, state: State, overhead: int = 0) -> None:
        self.seen = 0
        self.compacted = 0
        """The newest compaction's seq."""
        self.progress = Progress()
        self.state = state
        self.meter = Meter(overhead)
        self._overhead = overhead
        self._model = model
        self._projector = Projector(model)
        self._cursor = 0
        self._whole = False

    def refresh(self) -> None:
        """Take in what was logged since the last time; the first time, everything."""
        while True:
            page = session.read(self._cursor, PAGE_BYTES)
            events = objects(page, "events")
            if self._whole and any(text(event, "kind") == "compaction" for event in events):
                # Written in this turn. What it stands for was taken in before; a reading from the beginning leaves it out.
                self._projector = Projector(self._model)
                self.meter = Meter(self._overhead)
                self._cursor = 0
                self._whole = False
                continue
            for event in events:
                self._projector.feed(event)
                self.meter.feed(event)
                if number(event, "seq") > self.seen:
                    self.progress.feed(event)
                    self.state.feed(event)
                    self.seen = number(event, "seq")
                if text(event, "kind") == "compaction":
                    self.compacted = max(self.compacted, number(event, "seq"))
            cursor = number(page, "next", self._cursor)
            stuck = cursor <= self._cursor
            self._cursor = max(cursor, self._cursor)
            if stuck or flag(page, "end"):
                self._whole = True
                return

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
