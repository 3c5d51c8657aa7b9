"""A sub-agent's log as lines of text for its parent: what it was told, said, called and got, in order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.events import (
    Assistant,
    Event,
    Incident,
    Nudge,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    User,
)

MAX_PAGE = 24 * 1024
"""Bytes of one page of text."""
MAX_SAID, MAX_RESULT, MAX_ARGUMENTS = 4000, 600, 300
"""Characters of one thing it said, one result, one call's arguments."""


def page(events: Sequence[Event]) -> tuple[str, int]:
    """(lines, the number of the last event they tell of): as many of the events as fit, the first in any case."""
    lines: list[str] = []
    size, last = 0, events[0].seq - 1 if events else 0
    for event in events:
        line = told(event)
        size += len(line.encode("utf-8", "replace")) + 1 if line else 0
        if lines and size > MAX_PAGE:
            break
        if line:
            lines.append(line)
        last = event.seq
    return "\n".join(lines), last


def told(event: Event) -> str:
    """One event, "" when it says nothing to a reader."""
    try:
        body = event.body
    except msgspec.MsgspecError:
        return ""
    match body:
        case User():
            return f"told: {_cut(body.text, MAX_SAID)}"
        case Nudge():
            return f"told while at work: {_cut(body.text, MAX_SAID)}"
        case Assistant():
            words = "\n".join(str(b.get("text", "")) for b in body.blocks if b.get("type") == "text").strip()
            return f"says: {_cut(words, MAX_SAID)}{' [cut off]' if body.partial else ''}" if words else ""
        case ToolInvocation():
            return f"calls: {called(body)}"
        case ToolResult():
            return f"  {body.outcome}: {_cut(body.content, MAX_RESULT)}"
        case SystemNote() | Incident():
            return f"note: {_cut(body.text if isinstance(body, SystemNote) else body.message, MAX_RESULT)}"
        case TurnFinished():
            return f"ended: {body.stopped_by}{f', {body.detail}' if body.detail else ''}"
        case _:
            return ""


def called(call: ToolInvocation, most: int = MAX_ARGUMENTS) -> str:
    """A call on one line: its tool, and what is short of its arguments."""
    arguments = " ".join(_short(value) for value in call.args.values() if isinstance(value, str | int | float))
    return cutting.shortened(" ".join(f"{call.name} {arguments}".split()), most)


def _short(value: Any) -> str:
    return cutting.head(str(value), 120)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{cutting.head(words, most)} [+{len(words) - most} characters]"
