"""What the kernel itself last wrote or judged in a checkout, so that only another hand is taken for an edit by hand.

Kept on disk: a change that was written by the agent and not judged to its end (the kernel died, the gate did not start) must not
be somebody else's after a restart. Knows digests, not guests.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

_FILE = ".judged-by-us.json"
MAX_KEPT = 500


class Judged:
    """(conversation, aspect) -> the revision that stood in the checkout. `directory`: where the checkouts lie."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / _FILE
        self._known: dict[str, str] | None = None

    def get(self, session: str, aspect: str) -> str:
        """The revision, "" when none is known. Reads a file at the first call."""
        return self._all().get(f"{session} {aspect}", "")

    def put(self, session: str, aspect: str, revision: str) -> None:
        """Remember it, durably enough for a restart; "" forgets it. Writes a small file when that is news."""
        known = self._all()
        name = f"{session} {aspect}"
        if known.get(name, "") == revision:
            return
        known.pop(name, None)
        if revision:
            known[name] = revision
        while len(known) > MAX_KEPT:
            known.pop(next(iter(known)))
        fresh = self._file.with_name(f"{_FILE}.new")
        with contextlib.suppress(OSError):  # then a restart looks at that guest once more than it must
            fresh.write_bytes(msgspec.json.encode(known))
            fresh.replace(self._file)

    def _all(self) -> dict[str, str]:
        if self._known is None:
            try:
                self._known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
            except (OSError, msgspec.MsgspecError):
                self._known = {}
        return self._known
