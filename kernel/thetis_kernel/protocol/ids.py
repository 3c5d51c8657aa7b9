"""Identifiers: conversations, events, turns, tool calls. Random, lower-case hex, safe in paths and refs."""

from __future__ import annotations

import re
import secrets

SESSION_ID = re.compile(r"[0-9a-f]{16}")
SHORT_LENGTH = 8
"""Characters of a session id that name its branch and worktree; the store keeps them unique."""


def new_session_id() -> str:
    """A fresh conversation id: 16 hex digits."""
    return secrets.token_hex(8)


def new_event_id() -> str:
    """A fresh client event id: 32 hex digits. The same id appended twice is one event."""
    return secrets.token_hex(16)


def new_turn_id() -> str:
    """A fresh turn id: 12 hex digits."""
    return secrets.token_hex(6)


def new_call_id() -> str:
    """A fresh tool call id in the shape providers accept."""
    return "call_" + secrets.token_hex(10)


def short(session_id: str) -> str:
    """The part of a session id that people see and branches carry."""
    return session_id[:SHORT_LENGTH]


def branch_name(session_id: str) -> str:
    """The conversation's branch, without `refs/heads/`."""
    return f"conv/{short(session_id)}"
