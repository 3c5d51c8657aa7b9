"""What lies outside this conversation: other repositories, earlier conversations. What the model is told of the tools, and how
their results read.

Owns those texts. The order is fixed and the texts never vary, so that the provider's cache of the tool list holds. Must not
know modes, messages, how a clone is made or where a log lies.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from catalog import Tool
from schemas import boolean, count, string, takes
from thetis_guest.lenient import flag, number, objects, strings, text

ELSEWHERE: tuple[Tool, ...] = (
    Tool(
        "git_clone",
        "Clone a public repository into /workspace, without credentials, hooks, submodules. The person is asked while "
        "the network is off. Use depth 1 to read code.",
        takes(
            "repo",
            repo=string(hint="https address"),
            dir=string(hint="name in /workspace"),
            ref=string(hint="branch, tag or commit"),
            depth=count(hint="commits; default: all"),
        ),
        "repository.clone",
        mutating=True,
    ),
    Tool(
        "list_conversations",
        "Other conversations of this repository, last used first.",
        takes(limit=count(hint="default 20")),
        "transcripts.list",
        mutating=False,
    ),
    Tool(
        "search_conversations",
        "Find what was said in other conversations of this repository, newest first, each with conversation and "
        "number. It was true then; check it.",
        takes(
            "query",
            query=string("words that all occur"),
            conversation=string("an id; `this`: your own"),
            limit=count(hint="default 20"),
            tools=boolean("also tools' input and output"),
        ),
        "transcripts.search",
        mutating=False,
    ),
    Tool(
        "read_conversation",
        "Read a part of another conversation. Long entries are cut; from_seq and chars show one whole.",
        takes(
            "conversation",
            conversation=string(hint="its id"),
            from_seq=count(hint="first event"),
            limit=count("default 40"),
            chars=count("default 600"),
        ),
        "transcripts.read",
        mutating=False,
    ),
)


def _cloned(value: Any, args: dict[str, Any]) -> str:
    commit, branch = text(value, "commit"), text(value, "branch")
    at = f"{branch} at {commit[:10]}" if branch else commit[:10] or "nothing"
    told = f"cloned into {text(value, 'path')}: {at}, {number(value, 'files')} files, {number(value, 'bytes')} bytes"
    return "\n".join([told, *(f"[{note}]" for note in strings(value, "notes"))])


def _listed(value: Any, args: dict[str, Any]) -> str:
    lines = []
    for one in objects(value, "conversations"):
        mine = " (this one)" if flag(one, "own") else ""
        said = text(one, "preview") if text(one, "preview") != text(one, "title") else ""
        lines.append(
            f"{text(one, 'id')}  {_day(number(one, 'updated_ms'))}  {_line(text(one, 'title'))}{mine}"
            + (f"  | {_line(said)}" if said else "")
        )
    return (
        "\n".join([*lines, *(["[there are more]"] if flag(value, "more") else [])]) or "there is no other conversation"
    )


def _hits(value: Any, args: dict[str, Any]) -> str:
    lines = [
        f"{text(hit, 'id')}:{number(hit, 'seq')}  {text(hit, 'kind')}  {_line(text(hit, 'line'))}  [{_line(text(hit, 'title'))}]"
        for hit in objects(value, "hits")
    ]
    more = ["[there may be more; use other words, or a conversation]"] if flag(value, "more") else []
    return "\n".join([*lines, *more]) or "nothing that was said holds all these words"


def _page(value: Any, args: dict[str, Any]) -> str:
    name = text(value, "id")
    lines = [f"[conversation {name}: {_line(text(value, 'title'))}]"]
    for entry in objects(value, "entries"):
        cut = f" [{number(entry, 'more')} characters more]" if number(entry, "more") else ""
        lines.append(f"{number(entry, 'seq')} {text(entry, 'kind')}: {text(entry, 'text')}{cut}")
    onward = number(value, "next")
    lines.append(f"[goes on: from_seq {onward}]" if onward else "[that is its end]")
    return "\n".join(lines)


def _day(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "?"


def _line(words: str) -> str:
    return " ".join(words.split())


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "repository.clone": _cloned,
    "transcripts.list": _listed,
    "transcripts.search": _hits,
    "transcripts.read": _page,
}
