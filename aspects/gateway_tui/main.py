"""The renderer's exports: what the kernel calls.

Owns which function draws which kind of event, and that no event ever fails the others: one that cannot be drawn is
shown as it stands. Must not hold state: a fresh instance serves every call.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import happenings
import talk
from calls import Block, call_block
from results import result_block
from thetis_guest import HostError
from thetis_guest.lenient import mapping, number, text

VERSION = "0.1.0"
RAW_SHOWN = 2_000
"""Characters shown of an event that nobody here can draw."""

Draw = Callable[[dict[str, Any]], list[Block]]

KINDS: dict[str, Draw] = {
    "session-started": happenings.session_started,
    "user": talk.user,
    "assistant": talk.assistant,
    "tool-invocation": lambda body: _invocation(body),
    "tool-result": lambda body: [result_block(body)],
    "nudge": talk.nudge,
    "system-note": talk.note,
    "modification": happenings.modification,
    "incident": happenings.incident,
    "turn-started": happenings.turn_started,
    "turn-finished": happenings.turn_finished,
    "compaction": talk.compaction,
    "branch-op": happenings.branch_op,
    "setting-changed": happenings.setting_changed,
    "state-changed": happenings.state_changed,
    "approval": happenings.approval,
    "question": talk.question,
    "answer": talk.answer,
    "child-started": happenings.child_started,
    "child-settled": happenings.child_settled,
    "rewind": happenings.rewind,
    "spending": happenings.spending,
    "queued": happenings.queue,
    "queue-edited": happenings.queue,
    "queue-recalled": happenings.queue,
}


def describe() -> dict[str, Any]:
    """Name and version."""
    return {"name": "gateway_tui", "version": VERSION}


def serve_asset(path: str) -> dict[str, Any]:
    """The terminal needs no assets: `/` says what this is. Raises HostError for every other path."""
    if path in ("", "/"):
        return {"media_type": "text/plain", "text": f"gateway_tui {VERSION}: draws events for the terminal."}
    raise HostError("not-found", f"There is no asset {path[:200]!r}.")


def on_client_message(message: Any) -> dict[str, Any]:
    """The terminal sends this renderer no messages; one that comes is not understood."""
    return {"ok": False, "message": f"gateway_tui does not understand {type(message).__name__} messages."}


def render_events(events: list[Any]) -> list[dict[str, Any]]:
    """The blocks of each event (see the kernel's protocol.blocks), in order; an empty list hides the event."""
    return [{"seq": number(event, "seq"), "blocks": _render(event)} for event in events]


def _render(event: Any) -> list[Block]:
    draw = KINDS.get(text(event, "kind"))
    if draw is None:
        return [_raw(event)]
    try:
        return draw(mapping(event, "body"))
    except Exception:  # noqa: BLE001 - one strange event must not hide the others
        return [_raw(event)]


def _invocation(body: dict[str, Any]) -> list[Block]:
    return [call_block(text(body, "name"), mapping(body, "args"), text(body, "call"))]


def _raw(event: Any) -> Block:
    body = event.get("body") if isinstance(event, dict) else event
    words = json.dumps(body, ensure_ascii=False, default=str)[:RAW_SHOWN]
    return {"kind": "note", "title": text(event, "kind") or "unknown event", "body": words, "format": "code",
            "language": "json", "tone": "muted", "folded": True}  # fmt: skip
