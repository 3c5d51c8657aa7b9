"""The conversation as this turn sees it, kept up to date while the turn runs.

Owns reading the log in pages and feeding each event once to the folds; when a compaction appears, reading it again from
the beginning. Must not decide anything.
"""

from __future__ import annotations

from typing import Any

from guards import Progress
from project import Projector
from thetis_guest import session
from thetis_guest.lenient import flag, number, objects, text

PAGE_BYTES = 1 << 20


class History:
    """The folds over the log. `model`: the id of the model that will be asked. `seen`: the newest event's seq."""

    def __init__(self, model: str) -> None:
        self.seen = 0
        self.progress = Progress()
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
                self._cursor = 0
                self._whole = False
                continue
            for event in events:
                self._projector.feed(event)
                if number(event, "seq") > self.seen:
                    self.progress.feed(event)
                    self.seen = number(event, "seq")
            cursor = number(page, "next", self._cursor)
            stuck = cursor <= self._cursor
            self._cursor = max(cursor, self._cursor)
            if stuck or flag(page, "end"):
                self._whole = True
                return

    def messages(self) -> list[dict[str, Any]]:
        """The messages of the next request."""
        return self._projector.messages()
