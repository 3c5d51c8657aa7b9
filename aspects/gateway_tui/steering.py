"""Calls by which a conversation steers itself, and what a compaction did, in a line each.

Owns the words for plan, todos, questions, originals, tool groups and summaries. Must not know other tools.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_guest.lenient import number, objects, strings, text

_WHY = {"threshold": "", "asked": " as you asked", "overflow": " because the model's window was full"}


def _count(args: dict[str, Any], key: str, one: str) -> str:
    found = len(objects(args, key))
    return f"{found} {one if found == 1 else one + 's'}"


def _search(args: dict[str, Any]) -> str:
    wanted = text(args, "query") or ", ".join(strings(args, "load"))
    return f"look for tools: {wanted}" if wanted else "look at the tool groups"


TITLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "recall_span": lambda args: f"read events {number(args, 'first')} to {number(args, 'last')} again",
    "ask_user": lambda args: f"ask you {_count(args, 'questions', 'question')}",
    "plan_write": lambda args: f"plan {text(args, 'title')}".rstrip(),
    "plan_edit": lambda args: "change the plan",
    "plan_read": lambda args: "read the plan",
    "todo_write": lambda args: f"list {_count(args, 'todos', 'todo')}",
    "todo_update": lambda args: f"update {_count(args, 'updates', 'todo')}",
    "tool_search": _search,
}


def summary(body: dict[str, Any]) -> dict[str, Any]:
    """What a compaction did: visible in a line, the summary folded below it. The originals stay above, where they were."""
    count, before, after = number(body, "replaced"), number(body, "tokens_before"), number(body, "tokens_after")
    did = "left out without a summary" if text(body, "how") == "shed" else "summed up"
    title = f"{count or 'Earlier'} messages {did}{_WHY.get(text(body, 'why'), '')}"
    if before:
        title += (
            f": about {_tokens(before)} tokens before, {_tokens(after)} now"
            if after
            else f" at {_tokens(before)} tokens"
        )
    parts = [text(body, "summary"), text(body, "state")]
    if text(body, "detail"):
        parts.insert(0, f"No model summed it up: {text(body, 'detail')}")
    return {
        "kind": "note",
        "title": title,
        "body": "\n\n".join(filter(None, parts)),
        "tone": "muted",
        "folded": True,
        "fields": [("events", ", ".join(_spans(body)))],
    }


def loaded(group: str, why: str) -> str:
    """A tool group was loaded."""
    reason = {"search": "found by a search", "called": "one of its tools was called"}.get(why, why)
    return f"Tools loaded: {group}" + (f" ({reason})" if reason else "")


def _spans(body: dict[str, Any]) -> list[str]:
    spans = body.get("spans")
    pairs = [span for span in spans if isinstance(span, list) and len(span) == 2] if isinstance(spans, list) else []
    return [f"{first}-{last}" for first, last in pairs]


def _tokens(count: int) -> str:
    return f"{count / 1000:.1f}k" if count >= 1000 else str(count)
