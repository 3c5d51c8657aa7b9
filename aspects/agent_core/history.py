"""The conversation as this turn sees it, kept up to date while the turn runs.

Owns reading the log in pages and feeding each event once to the folds; after a compaction or a rewind it starts again
from the log. Must not decide anything.
"""

from __future__ import annotations

from typing import Any

from guards import Progress
from project import Projector, in_reading_order
from thetis_guest import session
from thetis_guest.lenient import flag, number, objects, text

PAGE_BYTES = 1 << 20
_REWRITES = ("compaction", "rewind")


class History:
    """The folds over the log. `model`: the id of the model that will be asked."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._start()

    def _start(self) -> None:
        self.seen = 0
        self.progress = Progress()
        self._projector = Projector(self._model)

    def refresh(self) -> None:
        """Take in what was logged since the last time; the first time, everything."""
        fresh = self._read()
        if self.seen and any(text(event, "kind") in _REWRITES for event in fresh):
            self._start()
            fresh = self._read()
        for event in in_reading_order(fresh):
            self._projector.feed(event)
            self.progress.feed(event)
        self.seen = max((number(event, "seq") for event in fresh), default=self.seen)

    def _read(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        after = self.seen
        while True:
            page = session.read(after, PAGE_BYTES)
            events += objects(page, "events")
            upto = number(page, "next", after)
            if flag(page, "end") or upto <= after:
                return events
            after = upto

    def messages(self) -> list[dict[str, Any]]:
        """The messages of the next request."""
        return self._projector.messages()
