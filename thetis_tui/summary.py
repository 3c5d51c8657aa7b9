"""One line for any event of the log, for the pane beside the transcript.

Must not know about widgets. Whatever an event holds, and however damaged it is, there is a line for it.
"""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.cutting import head, head_of

from thetis_tui.sanitise import one_line

GIST = 240
"""Characters of an event looked at for its line."""


def clock(ts_ms: int) -> str:
    """Local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(ts_ms / 1000))


def gist(event: e.Event) -> str:
    """What an event says, in a few safe words."""
    try:
        return one_line(head(_gist(event.body), GIST))
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return one_line(head_of(event.raw, GIST))


def _gist(body: e.EventBody | e.Unknown) -> str:
    match body:
        case e.User(text=text) | e.Nudge(text=text) | e.SystemNote(text=text):
            return head(text, GIST)
        case e.Assistant(blocks=blocks, end=end):
            return _reply(blocks) or end
        case e.ToolInvocation(name=name, args=args):
            return f"{name} {_brief(args)}"
        case e.ToolResult(outcome=outcome, content=content):
            return f"{outcome} {head(content, GIST)}"
        case e.TurnStarted(mode=mode, model=model):
            return f"{mode} {model}"
        case e.TurnFinished(stopped_by=stopped_by, detail=detail):
            return f"{stopped_by} {detail}"
        case e.Incident(code=code, message=message):
            return f"{code} {message}"
        case e.SettingChanged(name=name, value=value):
            return f"{name} = {value}"
        case e.BranchOp(op=op, ok=ok, after=after, detail=detail):
            return f"{op}{'' if ok else ' failed'} {after[:10]} {detail}"
        case e.StateChanged(scope=scope, key=key, value=value):
            return f"{scope}/{key} = {head(value, GIST)}"
        case e.Unknown(raw=raw):
            return head_of(raw, GIST)
        case _:
            return _brief(msgspec.to_builtins(body))


def _reply(blocks: list[dict[str, Any]]) -> str:
    words = [head(str(b.get("text", "")), GIST) for b in blocks if b.get("type") == "text"]
    calls = [f"→ {b.get('name', '')}" for b in blocks if b.get("type") == "tool_use"]
    return " ".join([*words, *calls])


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={_brief(item)}" for key, item in list(value.items())[:8] if key != "kind")
    if isinstance(value, str):
        return head(value, GIST)
    return head(json.dumps(value, ensure_ascii=False, default=str), GIST)


def whole(event: e.Event) -> str:
    """The event for reading: its JSON, indented; raw bytes when they are no JSON."""
    try:
        body = json.dumps(json.loads(event.raw), ensure_ascii=False, indent=2)
    except ValueError:
        body = event.raw.decode("utf-8", "replace")
    return body
