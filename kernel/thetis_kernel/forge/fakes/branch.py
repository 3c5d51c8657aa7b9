"""A branch in memory: two commits ahead of its trunk, every operation goes well. Knows no imports, only operations."""

from __future__ import annotations

import hashlib
from typing import Any

from thetis_kernel.forge.fakes.host import BadRequest, lately_ms

MAX_MESSAGE = 64 * 1024


class Branch:
    """Operations by name, without their interface."""

    def __init__(self) -> None:
        self._subjects = ["Add a book", "Begin"]

    def perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of an operation. Raises BadRequest for what no gateway would do."""
        if len(str(arguments.get("message", ""))) > MAX_MESSAGE:
            raise BadRequest("The message is too long.")
        match name:
            case "status":
                return {"branch": "conv/ab12cd34", "trunk": "main", "tip": self._tip, "base": _id("base"),
                        "ahead": len(self._subjects), "behind": 1, "changed": 3, "dirty": 1, "merging": "", "unresolved": [],
                        "filtered": []}  # fmt: skip
            case "log":
                limit = max(int(arguments.get("limit") or 20), 1)
                listed = [{"id": _id(each), "subject": each, "body": "", "author": "Ann <ann@example.org>",
                           "time": lately_ms() // 1000} for each in self._subjects]  # fmt: skip
                return {"commits": listed[:limit], "more": len(listed) > limit}
            case "commit":
                self._subjects.insert(0, str(arguments.get("message", ""))[:72] or "Work")
                return {"commit": self._tip, "tip": self._tip, "files": ["book.py"], "total": 1, "skipped": []}
            case "update-from-trunk":
                return {"how": "current", "before": self._tip, "after": self._tip, "files": [], "total": 0, "conflicts": []}
            case "complete-merge" | "abort-merge":
                raise BadRequest("No merge is open on this branch.", code="no-merge")
            case "reset-to":
                to = str(arguments.get("revision", ""))
                return {"before": self._tip, "after": self._tip, "to": to, "files": [], "total": 0}
            case _:
                raise BadRequest(f"There is no operation branch.{name[:40]}.")

    @property
    def _tip(self) -> str:
        return _id(self._subjects[0])


def _id(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
