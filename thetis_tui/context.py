"""What fills a model's window, by part, and how the provider's cache did, request by request: folded from events.

Sizes of parts are of their texts; tokens are what the provider counted. Must not know about widgets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from thetis_kernel.protocol import events as e

KEPT = 12
"""Requests told of."""
_GAP_MS = 5 * 60_000
"""After so long providers have forgotten what they cached."""
TOOLS, PROMPT = "definitions of tools", "system prompt and rules"
_PER_TOKEN = 4.0
"""Characters of a token, about, in English and in code."""
_PROMPT = 0.05
"""Of a request, at least this share is taken to be its system prompt."""
_LOST = 0.5
"""Of what could have been read from the cache, less than this share was."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: tokens read from the cache, written to it, sent fresh, and answered; `broke`: why little was read."""

    seq: int
    model: str
    read: int
    written: int
    fresh: int
    output: int
    broke: str = ""

    @property
    def prompt(self) -> int:
        """Tokens of the whole request."""
        return self.read + self.written + self.fresh


@dataclass(slots=True)
class Context:
    """Characters by part since the last compaction, and the newest requests, oldest first.

    `sent`: the parts as the newest request had them. `tools`: how many were offered with it, and their bytes.
    """

    parts: dict[str, int] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    tools: tuple[int, int] = (0, 0)

    @property
    def last(self) -> Request | None:
        """The newest request."""
        return self.requests[-1] if self.requests else None


def shares(context: Context) -> list[tuple[str, int]]:
    """(part, tokens) of the newest request, the largest first; they add up to it.

    The provider counts the whole only. What is known in characters is taken at four to a token, the definitions of tools too;
    what remains is the system prompt with the rules of the repository. When too little remains for one, the estimate was high:
    the known parts are made smaller alike.
    """
    last = context.last
    if last is None:
        return []
    known = {part: size / _PER_TOKEN for part, size in context.sent.items() if size}
    if context.tools[1]:
        known[TOOLS] = context.tools[1] / _PER_TOKEN
    most = last.prompt * (1 - _PROMPT)
    told = sum(known.values())
    scale = min(1.0, most / told) if told else 1.0
    out = {part: int(size * scale) for part, size in known.items()}
    out[PROMPT] = last.prompt - sum(out.values())
    return sorted(((part, size) for part, size in out.items() if size), key=lambda one: -one[1])


def fold(events: Iterable[e.Event]) -> Context:
    """The events of a conversation, in order (the beginning may be missing)."""
    context = Context()
    before: tuple[Request, e.Assistant, int] | None = None
    why = ""
    for event in events:
        body = event.body
        match body:
            case e.User(text=text) | e.Nudge(text=text):
                _add(context, "what you said", len(text))
            case e.ToolResult(content=content):
                _add(context, "results of tools", len(content))
            case e.Compaction(summary=summary):
                context.parts = {"summary of earlier parts": len(summary)}
                why = "the conversation was summed up"
            case e.SettingChanged(name="mode"):
                why = why or "the mode was changed"
            case e.Modification():
                why = why or "the conversation changed its own agent or tools"
            case e.Rewind():
                why = "the conversation went back"
            case e.Assistant():
                used = body.usage
                if used.input + used.cache_read + used.cache_write:
                    context.sent = dict(context.parts)
                    context.tools = (body.tools[0], body.tools[1]) if len(body.tools) > 1 else (0, 0)
                _reply(context, body)
                if used.input + used.cache_read + used.cache_write == 0:
                    continue
                request = Request(event.seq, body.model, used.cache_read, used.cache_write, used.input, used.output)
                if before is not None and request.read < _LOST * before[0].prompt and before[0].read + before[0].written:
                    broke = _why(before[1], body, event.ts_ms - before[2]) or why or "the beginning of the request changed"
                    request = Request(event.seq, body.model, used.cache_read, used.cache_write, used.input, used.output, broke)
                context.requests = [*context.requests[-KEPT + 1 :], request]
                before, why = (request, body, event.ts_ms), ""
            case _:
                pass
    return context


def _why(before: e.Assistant, now: e.Assistant, gap_ms: int) -> str:
    if before.model != now.model:
        return "another model"
    if before.tools != now.tools:
        return "other tools were offered"
    return "a pause of more than five minutes" if gap_ms > _GAP_MS else ""


def _reply(context: Context, body: e.Assistant) -> None:
    for block in body.blocks:
        kind = block.get("type")
        if kind == "text":
            _add(context, "replies", len(str(block.get("text", ""))))
        elif kind == "thinking":
            _add(context, "reasoning", len(str(block.get("thinking", ""))))
        elif kind == "tool_use":
            _add(context, "calls of tools", len(json.dumps(block.get("input", {}), default=str)))


def _add(context: Context, part: str, size: int) -> None:
    context.parts[part] = context.parts.get(part, 0) + size
