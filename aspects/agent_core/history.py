"""The conversation as this turn sees it, kept up to date while the turn runs.

Owns reading the log in pages and feeding each event once to the folds. Must not decide anything.
"""

from __future__ import annotations

from typing import Any

from guards import Progress
from project import Projector
from thetis_guest import session
from thetis_guest.lenient import flag, number, objects

PAGE_BYTES = 1 << 20


class History:
    """The folds over the log. `model`: the id of the model that will be asked. `seen`: the newest event's seq."""

    def __init__(self, model: str) -> None:
        self.seen = 0
        self.progress = Progress()
        self._projector = Projector(model)
        self._cursor = 0

    def refresh(self) -> None:
        """Take in what was logged since the last time; the first time, everything."""
        while True:
            page = session.read(self._cursor, PAGE_BYTES)
            for event in objects(page, "events"):
                self._projector.feed(event)
                self.progress.feed(event)
                self.seen = number(event, "seq")
            cursor = number(page, "next", self._cursor)
            stuck = cursor <= self._cursor
            self._cursor = max(cursor, self._cursor)
            if stuck or flag(page, "end"):
                return

    def messages(self) -> list[dict[str, Any]]:
        """The messages of the next request."""
        return self._projector.messages()
