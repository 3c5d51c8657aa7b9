"""Events as running text: for the model that sums them up, for the shedding without one, and for reading originals again.

Owns how an event reads outside the conversation it was part of. Pictures are named, never carried. Must not know why it is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cutting import head
from thetis_guest.lenient import mapping, number, objects, text


class Retelling:
    """Tells events in order; it remembers what each call was, so that its result reads as one of that operation.

    `limit`: characters of one part of an event; `read`: an operation's result as text, given its arguments and the event's body.
    """

    def __init__(self, limit: int, read: Callable[[str, dict[str, Any], dict[str, Any]], str]) -> None:
        self._limit = limit
        self._read = read
        self._calls: dict[str, tuple[str, str, dict[str, Any]]] = {}

    def told(self, event: dict[str, Any]) -> str:
        """The event as text, each part of at most `limit` characters; "" for kinds that say nothing to a model."""
        kind, body = text(event, "kind"), mapping(event, "body")
        at = f"[{number(event, 'seq')}]"
        if kind == "user":
            return f"{at} person: {self._cut(text(body, 'text'))}{_attached(body)}"
        if kind == "nudge":
            who = "system" if text(body, "source", "user") == "system" else "person, while it worked"
            return f"{at} {who}: {self._cut(text(body, 'text'))}{_attached(body)}"
        if kind == "answer":
            return f"{at} person answers: {self._cut(_json(body.get('answers')))}"
        if kind == "assistant":
            return "\n".join(filter(None, [self._part(at, block) for block in objects(body, "blocks")]))
        if kind == "tool-invocation":
            self._calls[text(body, "call")] = text(body, "name"), text(body, "op"), mapping(body, "args")
            return ""
        if kind == "tool-result":
            return self._result(at, body)
        if kind == "system-note":
            return f"{at} note: {self._cut(text(body, 'text'))}"
        if kind == "compaction":
            return f"{at} earlier summary: {self._cut(text(body, 'summary'))}"
        return ""

    def _part(self, at: str, block: dict[str, Any]) -> str:
        kind = text(block, "type")
        if kind == "text" and text(block, "text").strip():
            return f"{at} assistant: {self._cut(text(block, 'text'))}"
        if kind == "tool_use":
            return f"{at} calls {text(block, 'name')} {self._cut(_json(block.get('input')))}"
        return ""

    def _result(self, at: str, body: dict[str, Any]) -> str:
        name, op, args = self._calls.get(text(body, "call"), ("a call", "", {}))
        outcome = text(body, "outcome", "error")
        said = self._cut(self._read(op, args, body))
        return f"{at} {name} answers{'' if outcome == 'ok' else f' ({outcome})'}: {said}{_attached(body)}"

    def _cut(self, words: str) -> str:
        return middle_cut(words.strip(), self._limit)


def middle_cut(words: str, limit: int) -> str:
    """At most about `limit` characters: three quarters from the beginning, the rest from the end, and how much is missing."""
    if len(words) <= limit:
        return words
    first = head(words, limit * 3 // 4)
    last = words[len(words) - limit // 4 :]
    return f"{first}\n[... {len(words) - len(first) - len(last)} characters left out ...]\n{last}"


def _attached(body: dict[str, Any]) -> str:
    names = [text(blob, "name") or text(blob, "media_type") for blob in objects(body, "attachments")]
    return f" [attached: {', '.join(names)}]" if names else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
