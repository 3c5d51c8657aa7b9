"""What people and models say: messages, replies, thoughts, remarks, questions.

Owns the blocks of those kinds. Must not know tools.
"""

from __future__ import annotations

from typing import Any

import steering
from calls import Block, shown
from results import size
from thetis_guest.lenient import flag, number, objects, strings, text

_CUT = {"max-tokens": "The reply reached its length limit.", "refusal": "The model declined to answer."}
"""Ends of a reply that nothing else tells; of all others the end of the turn says what happened."""


def user(body: dict[str, Any]) -> list[Block]:
    """A person's message."""
    fields = [("attached", _attachment(each)) for each in objects(body, "attachments")]
    if flag(body, "with_changes"):
        fields.append(("with", "your uncommitted changes"))
    return [{"kind": "user", "title": text(body, "author"), "body": text(body, "text"), "fields": fields}]


def _attachment(blob: dict[str, Any]) -> str:
    return f"{text(blob, 'name') or text(blob, 'digest')[:12]}, {size(number(blob, 'size'))}"


def nudge(body: dict[str, Any]) -> list[Block]:
    """What a person says while the agent works, or the system."""
    if text(body, "source", "user") == "system":
        return [{"kind": "note", "body": text(body, "text"), "tone": "muted"}]
    fields = [("attached", _attachment(each)) for each in objects(body, "attachments")]
    return [{"kind": "user", "body": text(body, "text"), "tone": "muted", "fields": fields}]


def assistant(body: dict[str, Any]) -> list[Block]:
    """A model's reply. Its calls are events of their own and come next."""
    blocks: list[Block] = []
    for part in objects(body, "blocks"):
        kind = text(part, "type")
        if kind == "text" and text(part, "text").strip():
            blocks.append({"kind": "assistant", "body": part["text"].strip("\n"), "format": "markdown"})
        elif kind == "thinking" and text(part, "thinking").strip():
            blocks.append({"kind": "thinking", "title": "Thinking", "body": part["thinking"].strip(), "tone": "muted",
                           "folded": True})  # fmt: skip
        elif kind not in ("text", "thinking", "redacted_thinking", "tool_use"):
            blocks.append({"kind": "note", "title": kind or "unknown part", "body": shown(part, 4000), "tone": "muted",
                           "folded": True})  # fmt: skip
    cut = _CUT.get(text(body, "end", "stop"))
    return [*blocks, {"kind": "note", "body": cut, "tone": "warn"}] if cut else blocks


def note(body: dict[str, Any]) -> list[Block]:
    """A remark of the system."""
    words = text(body, "text")
    if text(body, "about") == "skill":
        first, _, rest = words.partition("\n\n")
        return [{"kind": "note", "title": first, "body": rest, "format": "markdown", "tone": "muted", "folded": True}]
    return [{"kind": "note", "body": words, "tone": "muted", "folded": words.count("\n") > 6}] if words.strip() else []


def compaction(body: dict[str, Any]) -> list[Block]:
    """A summary that stands for older messages."""
    return [steering.summary(body)]


def question(body: dict[str, Any]) -> list[Block]:
    """The agent asks."""
    lines = [text(body, "intro")] if text(body, "intro") else []
    for asked in objects(body, "questions"):
        lines.append(f"**{text(asked, 'question')}**")
        options = strings(asked, "options") or [text(option, "label") for option in objects(asked, "options")]
        lines += [f"- {option}" for option in options]
    return [{"kind": "note", "title": "A question for you", "body": "\n".join(lines), "format": "markdown", "tone": "warn"}]


def answer(body: dict[str, Any]) -> list[Block]:
    """The person's answers."""
    lines = [_answered(given) for given in objects(body, "answers")]
    return [{"kind": "user", "title": "answered", "body": "\n".join(filter(None, lines))}]


def _answered(given: dict[str, Any]) -> str:
    if text(given, "question") and text(given, "answer"):
        return f"{shown(text(given, 'question'), 300)} {text(given, 'answer')}"
    return ", ".join(shown(value, 500) for key, value in given.items() if key != "id")
