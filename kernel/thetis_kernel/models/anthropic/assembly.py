"""Events of one stream in, deltas out, and in the end the whole blocks, the usage and the reason it stopped.

Owns what may be kept of a reply: text, thinking verbatim with its signature, calls with whole arguments and ids of their
own. It takes what it does not know for nothing at all, and never raises for what a provider sends. Must not know HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from thetis_kernel.protocol.events import Usage
from thetis_kernel.protocol.models import Counted, End, StreamItem, TextDelta, ThinkingDelta, ToolCallDelta

STOPS: dict[str, End] = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "tool_use": "tool-use", "max_tokens": "max-tokens",
    "refusal": "refusal", "model_context_window_exceeded": "context-overflow",
}
UNREADABLE = "unreadable_arguments"
"""The one argument of a finished call whose JSON the model got wrong; the tool's schema then refuses it by name."""
_USAGE = {"input": "input_tokens", "output": "output_tokens", "cache_read": "cache_read_input_tokens",
          "cache_write": "cache_creation_input_tokens"}
MAX_TOKENS_COUNTED = 10**9
"""A larger count is no count."""


class _Block:
    """One content block on its way."""

    def __init__(self, start: dict[str, Any], call: str) -> None:
        self.kind = str(start.get("type", ""))
        self.start = start
        self.call = call
        self.text = Words(start.get("text", start.get("thinking", "")))
        self.signature = _string(start.get("signature"))
        self.whole = False


class Words:
    """Text that grows by pieces; half a surrogate pair waits for its other half, alone it becomes U+FFFD."""

    def __init__(self, start: Any = "") -> None:
        self.said = ""
        self._held = ""
        self.add(_string(start))

    def add(self, piece: str) -> str:
        """Take a piece; what can be shown of it now."""
        piece, self._held = self._held + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        shown = clean(piece)
        self.said += shown
        return shown


class Assembly:
    """The reply so far. `stop`: how the provider said it ended, None while it has not. `over`: nothing more will come."""

    def __init__(self) -> None:
        self.stop: End | None = None
        self.over = False
        self.error: dict[str, Any] | None = None
        self._blocks: dict[int, _Block] = {}
        self._calls: set[str] = set()
        self._counts: dict[str, int] = {}

    def take(self, data: bytes) -> Iterator[StreamItem]:
        """The deltas of one event; none once it is over."""
        if self.over:
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        match event.get("type"):
            case "message_start":
                yield from self._count(_mapping(event.get("message")).get("usage"))
            case "content_block_start":
                yield from self._begin(event)
            case "content_block_delta":
                yield from self._grow(event)
            case "content_block_stop":
                block = self._blocks.get(_index(event))
                if block is not None:
                    block.whole = True
            case "message_delta":
                yield from self._count(event.get("usage"))
                reason = _mapping(event.get("delta")).get("stop_reason")
                if isinstance(reason, str):
                    self.stop = STOPS.get(reason, "stop")
            case "message_stop":
                self.over = True
            case "error":
                self.over = True
                self.error = _mapping(event.get("error"))
            case _:
                pass  # a ping, or something newer than this

    def blocks(self, cut: bool) -> list[dict[str, Any]]:
        """What may be kept. `cut`: the stream did not finish, so only what is whole counts, text aside."""
        kept: list[dict[str, Any]] = []
        for _, block in sorted(self._blocks.items()):
            words = block.text.said
            if block.kind == "text" and words.strip():
                kept.append({"type": "text", "text": words})
            elif block.kind == "thinking" and not (cut and not block.whole):
                kept.append({"type": "thinking", "thinking": words, "signature": block.signature})
            elif block.kind == "redacted_thinking":
                kept.append({"type": "redacted_thinking", "data": _string(block.start.get("data"))})
            elif block.kind == "tool_use":
                args = self._arguments(block, cut or self.stop == "max-tokens")
                if args is not None:
                    kept.append({"type": "tool_use", "id": block.call, "name": _string(block.start.get("name")), "input": args})
        return kept

    def usage(self) -> Usage | None:
        """The provider's last word on tokens; None when it gave none."""
        return msgspec.convert(self._counts, Usage) if self._counts else None

    # -- inside

    def _begin(self, event: dict[str, Any]) -> Iterator[StreamItem]:
        start = _mapping(event.get("content_block"))
        call = self._own_id(_string(start.get("id"))) if start.get("type") == "tool_use" else ""
        block = self._blocks[_index(event)] = _Block(start, call)
        if block.kind == "tool_use":
            yield ToolCallDelta(call=call, name=_string(start.get("name")))
        elif block.kind in ("text", "thinking") and block.text.said:
            yield TextDelta(block.text.said) if block.kind == "text" else ThinkingDelta(block.text.said)

    def _grow(self, event: dict[str, Any]) -> Iterator[StreamItem]:
        block, delta = self._blocks.get(_index(event)), _mapping(event.get("delta"))
        if block is None:
            return
        match block.kind, delta.get("type"):
            case "text", "text_delta":
                if shown := block.text.add(_string(delta.get("text"))):
                    yield TextDelta(shown)
            case "thinking", "thinking_delta":
                if shown := block.text.add(_string(delta.get("thinking"))):
                    yield ThinkingDelta(shown)
            case "thinking", "signature_delta":
                block.signature += _string(delta.get("signature"))
            case "tool_use", "input_json_delta":
                if shown := block.text.add(_string(delta.get("partial_json"))):
                    yield ToolCallDelta(call=block.call, json=shown)
            case _:
                pass

    def _own_id(self, given: str) -> str:
        """Ids that collide in one reply would give two calls one answer."""
        base = clean(given) or "call"
        unique, n = base, 2
        while unique in self._calls:
            unique, n = f"{base}-{n}", n + 1
        self._calls.add(unique)
        return unique

    def _arguments(self, block: _Block, may_be_cut: bool) -> dict[str, Any] | None:
        given = block.start.get("input")
        raw = block.text.said
        if not raw.strip():
            if may_be_cut and not block.whole:
                return None
            return given if isinstance(given, dict) else {}
        try:
            args = json.loads(raw)
        except (ValueError, RecursionError):
            return None if may_be_cut else {UNREADABLE: raw[:2000]}
        return _cleaned(args) if isinstance(args, dict) else {UNREADABLE: raw[:2000]}

    def _count(self, usage: Any) -> Iterator[StreamItem]:
        """Counts are cumulative: the last one said stands."""
        table, before = _mapping(usage), dict(self._counts)
        for ours, theirs in _USAGE.items():
            count = table.get(theirs)
            if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_TOKENS_COUNTED:
                self._counts[ours] = count
        if self._counts != before:
            yield Counted(msgspec.convert(self._counts, Usage))


def clean(words: str) -> str:
    """`words` without lone surrogates, which no encoder takes; a pair given as two becomes its character."""
    if words.isascii():
        return words
    return words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None  # JSON has no such numbers; Python's reader takes them
    return value


def _index(event: dict[str, Any]) -> int:
    index = event.get("index", 0)
    return index if isinstance(index, int) else 0


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
