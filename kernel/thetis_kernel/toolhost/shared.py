"""Two agents in one checkout: who wrote which file, and telling both when it is the same one.

One `Written` serves a conversation and its sub-agents, which run in one process. It knows what file tools wrote; what
commands write is nobody's to know beforehand. Must not know how anybody is told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

MOST = 4096
"""Paths that are remembered; the oldest go first."""


class Written:
    """`tell(member, words)`: a line for a member that is at work; "" is the conversation itself, else a sub-agent's id."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._members: dict[str, str] = {}
        self._paths: dict[str, list[str]] = {}

    def join(self, member: str, label: str) -> None:
        """A member is at work, under the name others are told."""
        with self._lock:
            self._members[member] = label

    def leave(self, member: str) -> None:
        """It is not at work any more: what it wrote is history."""
        with self._lock:
            self._members.pop(member, None)
            for path, writers in list(self._paths.items()):
                if member in writers:
                    writers.remove(member)
                if not writers:
                    del self._paths[path]

    def by(self, member: str, path: str) -> str:
        """`member` wrote `path`. The sentence for it when others at work did too; they are told of it as well."""
        with self._lock:
            writers = self._paths.pop(path, [])
            self._paths[path] = [*(one for one in writers if one != member), member]
            others = {one: self._members[one] for one in writers if one != member and one in self._members}
            mine = self._members.get(member, "another agent")
            first = member not in writers
            while len(self._paths) > MOST:
                del self._paths[next(iter(self._paths))]
        if not others:
            return ""
        if first:
            for one in others:
                self._tell(one, f"{mine} has changed {path}, which you have changed too. Read it again before you go on with it.")
        named = " and ".join(others.values())
        return f"{named} changed this file too, in the same checkout: make sure that both changes are still in it."


def noted(written: Written | None, member: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of an operation that wrote `answer["path"]`, with a note where others wrote it too."""
    words = written.by(member, str(answer["path"])) if written is not None else ""
    return {**answer, "note": words} if words else answer
