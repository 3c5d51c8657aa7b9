"""Blocks for the fake gateway's events, in the manner of the guest that ships, small and still."""

from __future__ import annotations

from typing import Any

from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.blocks import Block, RenderedEvent, bounded

_OUTCOMES = {"error": "bad", "refused": "warn", "interrupted": "warn", "cancelled": "muted"}
_STOPS = {"stop": ("done", "muted"), "cancelled": ("stopped by you", "warn"), "error": ("an error ended it", "bad")}


def render(events: list[e.Event]) -> list[RenderedEvent]:
    """One `RenderedEvent` an event."""
    return [bounded(RenderedEvent(event.seq, _blocks(event.body))) for event in events]


def _blocks(body: Any) -> list[Block]:
    match body:
        case e.User(text=text):
            return [Block("user", body=text)]
        case e.Nudge(text=text):
            return [Block("user", title="while it works", body=text)]
        case e.Assistant(blocks=blocks):
            return [block for part in blocks for block in _part(part)]
        case e.ToolInvocation(name=name, args=args, call=call):
            if name == "edit":
                return [Block("tool", title=f"edit {args['path']}", body=args["diff"], format="diff", call=call)]
            words = " ".join(str(value) for value in args.values())
            return [Block("tool", title=f"{name} {words}".strip(), call=call)]
        case e.ToolResult():
            return [_result(body)]
        case e.SystemNote(text=text, about=about):
            return [Block("note", title=about, body=text, tone="muted")]
        case e.Incident(code=code, message=message):
            return [Block("incident", title=code, body=message, tone="bad")]
        case e.TurnFinished(stopped_by=why, detail=detail, tool_calls=calls, duration_ms=took):
            words, tone = _STOPS.get(why, (why, "warn"))
            facts = f"{calls} calls, {took / 1000:.1f} s"
            return [Block("turn", title=words, body=detail, tone=tone, fields=[("turn", facts)])]
        case e.SettingChanged(name=name, value=value):
            return [Block("state", title=f"{name}: {value}", tone="muted")]
        case e.BranchOp(op=op, after=after):
            return [Block("state", title=f"Branch: {op} {after[:8]}", tone="muted")]
        case _:
            return []


def _part(part: dict[str, Any]) -> list[Block]:
    if part["type"] == "text":
        return [Block("assistant", body=part["text"], format="markdown")]
    if part["type"] == "thinking":
        return [Block("thinking", title="Thinking", body=part["thinking"], tone="muted", folded=True)]
    return []


def _result(body: e.ToolResult) -> Block:
    count = len(body.content.splitlines())
    title = str(body.data.get("title", "")) or (f"exit {body.data['exit']}" if "exit" in body.data else f"{count} lines")
    fields = [("time", f"{body.duration_ms / 1000:.1f} s")] if body.duration_ms >= 1000 else []
    language = str(body.data.get("language", ""))
    tone = _OUTCOMES.get(body.outcome, "normal")
    return Block(
        "result", title=title, body=body.content, format="code" if language else "text", language=language, tone=tone,
        folded=bool(body.data.get("folded")) or (tone == "normal" and count > 12), call=body.call, fields=fields,
    )
