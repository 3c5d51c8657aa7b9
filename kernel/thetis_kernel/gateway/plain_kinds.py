"""How the plain renderer draws each kind of event. One small function a kind; bounds and cleaning are the caller's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from thetis_kernel.protocol import cutting
from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.blocks import Block

_SHOWN = 300
"""Characters of an argument or value on one line."""
_FOLD_LINES = 12
"""A result longer than this starts folded."""
_EFFECTS = 8
"""Of a tool, shown; the event holds more."""
_OUTCOMES = {
    "ok": ("", "normal"),
    "error": ("failed", "bad"),
    "refused": ("refused", "warn"),
    "interrupted": ("interrupted, outcome unknown", "warn"),
    "cancelled": ("stopped before it ran", "muted"),
}
_STOPS = {
    "stop": ("done", "muted"),
    "asked": ("waiting for your answer", "normal"),
    "cancelled": ("stopped by you", "warn"),
    "restarted": ("interrupted by a restart", "warn"),
    "limit": ("a limit was reached", "warn"),
    "repeated-failure": ("the same call kept failing", "warn"),
    "model-error": ("the model failed", "bad"),
    "error": ("an error ended it", "bad"),
}


def draw(body: ev.EventBody) -> list[Block]:
    """The blocks of a typed body; empty for kinds that say nothing to a reader of the transcript."""
    drawing: Callable[[Any], list[Block]] = _DRAW[type(body)]
    return drawing(body)


def _session_started(body: ev.SessionStarted) -> list[Block]:
    fields = _fields(branch=body.branch, trunk=body.trunk, mode=body.mode, model=body.model, parent=body.parent)
    return [Block("state", title="Conversation started", tone="muted", fields=fields)]


def _user(body: ev.User) -> list[Block]:
    return [Block("user", title=body.author, body=body.text, fields=_attached(body.attachments))]


def _attached(blobs: list[ev.BlobRef]) -> list[tuple[str, str]]:
    return [("attached", f"{blob.name or blob.digest[:12]} ({blob.media_type}, {blob.size} bytes)") for blob in blobs]


def _assistant(body: ev.Assistant) -> list[Block]:
    blocks = []
    for part in body.blocks:
        if part.get("type") == "text" and str(part.get("text", "")).strip():
            blocks.append(Block("assistant", body=str(part["text"]), format="markdown"))
        elif part.get("type") == "thinking" and str(part.get("thinking", "")).strip():
            blocks.append(Block("thinking", title="Thinking", body=str(part["thinking"]), tone="muted", folded=True))
        elif part.get("type") not in ("text", "thinking", "redacted_thinking", "tool_use"):  # calls are events of their own
            blocks.append(Block("note", title=str(part.get("type")), body=_json(part), format="code", folded=True))
    if body.partial or body.end not in ("stop", "tool-use"):
        why = body.detail or body.end
        blocks.append(Block("note", body=f"The reply was cut off: {why}", tone="warn"))
    return blocks


def _invocation(body: ev.ToolInvocation) -> list[Block]:
    fields = [(name, _short(value)) for name, value in body.args.items()]
    tone = "warn" if body.mutating else "normal"
    return [Block("tool", title=body.name, call=body.call, tone=tone, fields=fields)]


def _result(body: ev.ToolResult) -> list[Block]:
    title, tone = _OUTCOMES[body.outcome]
    fields = [*_fields(whole=body.spill), *_inside(body.data)]
    folded = body.content.count("\n") > _FOLD_LINES
    return [Block("result", title=title, body=body.content, tone=tone, folded=folded, call=body.call, fields=fields)]


def _inside(data: dict[str, Any]) -> list[tuple[str, str]]:
    """What a tool did by itself while it ran (`toolhost/inside.py`)."""
    effects = data.get("effects")
    found = [(_short(one.get("does", "")), " ".join(_short(one.get(key, "")) for key in ("what", "how") if one.get(key)))
             for one in effects[:_EFFECTS] if isinstance(one, dict)] if isinstance(effects, list) else []
    left_out = data.get("effects_left_out")
    counts = left_out.values() if isinstance(left_out, dict) else []
    more = max(0, len(effects) - _EFFECTS if isinstance(effects, list) else 0) + sum(n for n in counts if isinstance(n, int))
    return [*found, ("and", f"{more} more")] if more else found


def _nudge(body: ev.Nudge) -> list[Block]:
    if body.source == "user":
        return [Block("user", title="while it works", body=body.text, fields=_attached(body.attachments))]
    return [Block("note", body=body.text, tone="muted")]


def _system_note(body: ev.SystemNote) -> list[Block]:
    return [Block("note", title=body.about, body=body.text, tone="muted")]


def _modification(body: ev.Modification) -> list[Block]:
    fields = _fields(revision=body.revision[:12], previous=body.previous[:12], verdict=body.verdict, by=body.by)
    return [Block("state", title=f"{body.target} changed", body=body.summary, fields=fields)]


def _incident(body: ev.Incident) -> list[Block]:
    fields = [(name, _short(value)) for name, value in body.data.items()]
    return [Block("incident", title=body.code, body=body.message, tone="bad", fields=fields)]


def _turn_started(body: ev.TurnStarted) -> list[Block]:
    return [Block("turn", title="Resumed", tone="muted")] if body.attempt else []


def _turn_finished(body: ev.TurnFinished) -> list[Block]:
    words, tone = _STOPS.get(body.stopped_by, (body.stopped_by, "warn"))
    facts = [f"{body.tool_calls} calls" if body.tool_calls != 1 else "1 call", f"{body.duration_ms / 1000:.1f} s"]
    return [Block("turn", title=f"Turn ended: {words}", body=body.detail, tone=tone, fields=[("turn", ", ".join(facts))])]


def _compaction(body: ev.Compaction) -> list[Block]:
    did = "left out without a summary" if body.how == "shed" else "summed up"
    text = "\n\n".join(filter(None, [body.summary, body.state]))
    return [Block("note", title=f"{body.replaced} messages {did}; the log keeps them", body=text, tone="muted", folded=True)]


def _branch_op(body: ev.BranchOp) -> list[Block]:
    if body.ok and body.op in ("materialised", "commit"):
        return [Block("state", title=f"Branch: {body.op} {body.after[:8]}".rstrip(), body=body.detail, tone="muted")]
    words = "" if body.ok else " failed"
    return [Block("state", title=f"Branch: {body.op}{words}", body=body.detail, tone="normal" if body.ok else "bad")]


def _setting_changed(body: ev.SettingChanged) -> list[Block]:
    return [Block("state", title=f"{body.name}: {body.value}", tone="muted")]


def _state_changed(body: ev.StateChanged) -> list[Block]:
    if body.scope.startswith("kv:") or body.scope in ("plan", "todos"):
        return []  # a guest's own notebook, or what stands beside it as a call and its result
    words = f"{body.scope}: {body.key}" + ("" if body.value else " removed")
    return [Block("state", title=words, body=_pretty(body.value), tone="muted", folded=True)]


def _approval(body: ev.Approval) -> list[Block]:
    if not body.decision:
        return [Block("state", title=f"Asks to {body.capability}", body=body.what, tone="warn")]
    tone = "bad" if body.decision == "deny" else "good"
    return [Block("state", title=f"{body.capability}: {body.decision}", body=body.what, tone=tone)]


def _question(body: ev.Question) -> list[Block]:
    asked = []
    for question in body.questions:
        asked.append(str(question.get("question", "")))
        options = question.get("options")
        asked.extend(f"  - {option}" for option in options if isinstance(options, list)) if options else None
    return [Block("note", title="Question", body="\n".join(filter(None, [body.intro, *asked])), tone="warn")]


def _answer(body: ev.Answer) -> list[Block]:
    given = [", ".join(f"{key}: {_short(value)}" for key, value in answer.items()) for answer in body.answers]
    return [Block("user", title="answer", body="\n".join(given))]


def _child_started(body: ev.ChildStarted) -> list[Block]:
    return [Block("state", title=f"Sub-agent {body.label} started", body=body.task, fields=_fields(id=body.child))]


def _child_settled(body: ev.ChildSettled) -> list[Block]:
    tone = {"done": "good", "failed": "bad"}.get(body.state, "muted")
    text = "\n".join(filter(None, [body.detail, body.result]))
    return [Block("state", title=f"Sub-agent {body.state}", body=text, tone=tone, folded=True, fields=_fields(id=body.child))]


def _rewind(body: ev.Rewind) -> list[Block]:
    files = ", the files too" if body.tree else ""
    return [Block("turn", title=f"Went to another point in time{files}", tone="warn")]


def _queue(body: ev.Body) -> list[Block]:
    return []  # what waits is shown where one types; once it is said it is a message


def _spending(body: ev.Spending) -> list[Block]:
    return []  # the end of the turn says what was spent


_DRAW: dict[type[ev.Body], Callable[[Any], list[Block]]] = {
    ev.SessionStarted: _session_started,
    ev.User: _user,
    ev.Assistant: _assistant,
    ev.ToolInvocation: _invocation,
    ev.ToolResult: _result,
    ev.Nudge: _nudge,
    ev.SystemNote: _system_note,
    ev.Modification: _modification,
    ev.Incident: _incident,
    ev.TurnStarted: _turn_started,
    ev.TurnFinished: _turn_finished,
    ev.Compaction: _compaction,
    ev.BranchOp: _branch_op,
    ev.SettingChanged: _setting_changed,
    ev.StateChanged: _state_changed,
    ev.Approval: _approval,
    ev.Question: _question,
    ev.Answer: _answer,
    ev.ChildStarted: _child_started,
    ev.ChildSettled: _child_settled,
    ev.Rewind: _rewind,
    ev.Spending: _spending,
    ev.Queued: _queue,
    ev.QueueEdited: _queue,
    ev.QueueRecalled: _queue,
}


def _fields(**values: str) -> list[tuple[str, str]]:
    """(label, value) of the values that are not empty."""
    return [(label, value) for label, value in values.items() if value]


def _short(value: Any) -> str:
    """A value on one line."""
    text = value if isinstance(value, str) else _json(value)
    return cutting.shortened(text, _SHOWN, " ...")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pretty(text: str) -> str:
    """JSON text as a person reads it: a plain string without its quotes."""
    try:
        value = json.loads(text) if text else ""
    except ValueError:
        return text
    return value if isinstance(value, str) else text
