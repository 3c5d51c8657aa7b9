"""Thinking in a history: whose it is and who may be sent it. Must not know any provider."""

from __future__ import annotations

from typing import Any

THINKING = frozenset({"thinking", "redacted_thinking"})


def without_thinking(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history for a model that did not think it: signatures are valid at the model that gave them alone.

    A reply that was thinking only stays as it is: a message without content is refused by everybody.
    """
    kept: list[dict[str, Any]] = []
    for message in messages:
        content = [block for block in message["content"] if block.get("type") not in THINKING]
        kept.append({**message, "content": content} if content and len(content) < len(message["content"]) else message)
    return kept
