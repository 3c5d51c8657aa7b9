"""The agent's own conversation: its log and its inbox."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def read(after: int, max_bytes: int = 1 << 20) -> dict[str, Any]:
    """A page of events after `after`: {"events": [...], "next": seq, "end": bool}. Spans are already applied."""
    return _bind.value("session", "read", after, max_bytes)  # type: ignore[no-any-return]


def append(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """Write an event of a kind the agent owns (assistant, system-note, compaction, state-changed): {"seq"}."""
    return _bind.value("session", "append", kind, _bind.dumps(body))  # type: ignore[no-any-return]


def poll_inbox() -> dict[str, Any]:
    """{"cancelled", "nudges": [{"seq", "text"}], "elapsed-ms", "tokens"}; each nudge is given once."""
    return _bind.value("session", "poll-inbox")  # type: ignore[no-any-return]
