"""Skills, other repositories and earlier conversations in human form: what a call does, said as a person would, and what came.

Owns the titles of those calls and the shapes of their results. Must not fail on any content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_guest.lenient import flag, mapping, number, objects, strings, text

Block = dict[str, Any]


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


def _count(count: int, one: str, more: bool = False) -> str:
    return f"{count}{' or more' if more else ''} {one if count == 1 and not more else one + 's'}" if count else f"no {one}s"


def _cloned(value: dict[str, Any]) -> Block:
    at = " at ".join(filter(None, [text(value, "branch"), text(value, "commit")[:8]]))
    told = f"{at or 'nothing yet'}, {_count(number(value, 'files'), 'file')}"
    return {"title": told, "body": "\n".join(strings(value, "notes"))}


def _skill_text(value: dict[str, Any]) -> Block:
    if flag(value, "known") and not text(value, "text"):
        return {"title": "read before, unchanged", "body": ""}
    lines = len(text(value, "text").splitlines())
    source = text(mapping(value, "card"), "source")
    told = _count(lines, "line") + (f", {source}" if source else "")
    return {"title": told, "body": text(value, "text"), "format": "markdown", "folded": True}


def _cards(value: dict[str, Any]) -> Block:
    cards = objects(value, "cards")
    lines = [f"{_line(text(card, 'name'), 60)}: {_line(text(card, 'brief'), 300)}" for card in cards]
    lines += [f"{_place(one)}: {_line(text(one, 'message'), 300)}" for one in objects(value, "problems")]
    return {"title": _count(len(cards), "skill"), "body": "\n".join(lines)}


def _written(value: dict[str, Any]) -> Block:
    wrong = [f"{_place(one)}: {_line(text(one, 'message'), 300)}" for one in objects(value, "diagnostics")]
    kept = {"person": "kept for every conversation"}.get(text(value, "source"), "kept for this conversation")
    return {"title": kept if flag(value, "ok") else "not kept", "body": "\n".join(wrong)}


def _place(problem: dict[str, Any]) -> str:
    line = number(problem, "line")
    return (_line(text(problem, "path"), 120) or "its name") + (f":{line}" if line else "")


def _conversations(value: dict[str, Any]) -> Block:
    found = objects(value, "conversations")
    lines = [f"{text(one, 'id')}  {_line(text(one, 'title'), 120)}" for one in found]
    return {"title": _count(len(found), "conversation", flag(value, "more")), "body": "\n".join(lines), "folded": True}


def _hits(value: dict[str, Any]) -> Block:
    hits = objects(value, "hits")
    lines = [f"{text(hit, 'id')}:{number(hit, 'seq')}  {_line(text(hit, 'line'), 300)}" for hit in hits]
    return {"title": _count(len(hits), "place", flag(value, "more")), "body": "\n".join(lines)}


def _page(value: dict[str, Any]) -> Block:
    entries = objects(value, "entries")
    lines = [f"{number(one, 'seq')} {text(one, 'kind')}: {text(one, 'text')}" for one in entries]
    title = f"{_line(text(value, 'title'), 120)}, {_count(len(entries), 'event')}"
    return {"title": title, "body": "\n".join(lines), "folded": True}


SHAPES: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], Block]]] = [
    (("branch", "commit", "files", "notes", "path"), _cloned),
    (("card", "text", "known"), _skill_text),
    (("cards", "problems"), _cards),
    (("name", "ok", "source", "diagnostics"), _written),
    (("conversations", "more"), _conversations),
    (("hits", "more"), _hits),
    (("id", "title", "entries", "next"), _page),
]
"""Fields a result is known by, and how it is drawn."""
