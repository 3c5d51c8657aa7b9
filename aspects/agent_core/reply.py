"""A model's content blocks, cut down to what may legally be sent back to a model.

Owns the rules for one assistant message: kinds, non-empty text, thinking only where its signature is still valid,
call ids that are well-formed and unique in the conversation. Must not know events or results.
"""

from __future__ import annotations

import re
from typing import Any

from thetis_guest.lenient import text

ID_CHARS = 64
"""Of a call's id: the shortest limit among the endpoints that speak the Messages API."""
_NOT_ID = re.compile(r"[^a-zA-Z0-9_-]")


class Ids:
    """Hands out call ids: the model's own where it is well-formed and new, else a numbered variant of it."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def wire(self, raw: str) -> str:
        """The id to send for a call the model named `raw`; the same sequence of calls gives the same ids."""
        base = _NOT_ID.sub("_", raw)[:ID_CHARS] or "call"
        wire, n = base, 2
        while wire in self._used:
            ending = f"-{n}"
            wire, n = base[: ID_CHARS - len(ending)] + ending, n + 1
        self._used.add(wire)
        return wire


def legal_name(name: str) -> str:
    """A tool name as the Messages API accepts one."""
    return _NOT_ID.sub("_", name)[:64] or "unknown"


def legal_blocks(blocks: list[dict[str, Any]], ids: Ids, keep_thinking: bool) -> list[tuple[dict[str, Any], str]]:
    """(block, raw call id or "") for each block that may be sent; an empty list when nothing may.

    `keep_thinking`: the same model wrote it, whole; other models refuse its signatures.
    """
    kept: list[tuple[dict[str, Any], str]] = []
    for block in blocks:
        kind = text(block, "type")
        if kind == "text" and text(block, "text").strip():
            kept.append(({"type": "text", "text": block["text"]}, ""))
        elif kind == "tool_use":
            raw = text(block, "id")
            args = block.get("input")
            wire = {
                "type": "tool_use",
                "id": ids.wire(raw),
                "name": legal_name(text(block, "name")),
                "input": args if isinstance(args, dict) else {},
            }
            kept.append((wire, raw))
        elif keep_thinking and kind == "thinking" and text(block, "signature"):
            verbatim = {"type": "thinking", "thinking": text(block, "thinking"), "signature": block["signature"]}
            kept.append((verbatim, ""))
        elif keep_thinking and kind == "redacted_thinking" and text(block, "data"):
            kept.append(({"type": "redacted_thinking", "data": block["data"]}, ""))
    while kept and kept[-1][0]["type"] in ("thinking", "redacted_thinking"):
        kept.pop()
    return kept
