"""Skills, other repositories and earlier conversations in human form: what a call does, said as a person would.

Owns the titles of those calls. Must not fail on any content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_guest.lenient import number, text


def _line(words: str, limit: int) -> str:
    words = " ".join(words.split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def _clone(args: dict[str, Any]) -> str:
    at = f" at {_line(text(args, 'ref'), 60)}" if text(args, "ref") else ""
    into = f" into /workspace/{_line(text(args, 'dir'), 60)}" if text(args, "dir") else ""
    return f"clone {_line(text(args, 'repo'), 200)}{at}{into}"


def _skill(args: dict[str, Any]) -> str:
    file = f": {_line(text(args, 'file'), 80)}" if text(args, "file") else ""
    return f"skill {_line(text(args, 'name'), 60)}{file}"


def _write_skill(args: dict[str, Any]) -> str:
    verb = "write" if text(args, "contents") else "remove"
    whose = " for every conversation" if text(args, "where") == "person" else ""
    return f"{verb} the skill {_line(text(args, 'name'), 60)}{whose}"


def _search(args: dict[str, Any]) -> str:
    where = text(args, "conversation")
    place = "earlier conversations" if not where else "this conversation" if where == "this" else _line(where, 20)
    return f"search “{_line(text(args, 'query'), 120)}” in {place}"


def _read(args: dict[str, Any]) -> str:
    first = number(args, "from_seq")
    return f"read conversation {_line(text(args, 'conversation'), 20)}" + (f" from {first}" if first > 1 else "")


TITLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "git_clone": _clone,
    "use_skill": _skill,
    "find_skills": lambda args: f"skills for “{_line(text(args, 'query'), 120)}”" if text(args, "query") else "list skills",
    "write_skill": _write_skill,
    "list_conversations": lambda args: "list conversations",
    "search_conversations": _search,
    "read_conversation": _read,
}
"""The whole title of a call, its name included."""
