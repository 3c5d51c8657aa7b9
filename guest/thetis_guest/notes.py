"""Notes of this conversation; they survive restarts and rewrites of the agent."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def remember(key: str, content: str) -> None:
    """Keep a note under `key`, replacing an earlier one."""
    _bind.text("notes", "remember", key, content)


def recall(key: str = "") -> dict[str, Any]:
    """{"notes": [{"key", "content", "ts_ms"}]}; an empty key lists all."""
    return _bind.value("notes", "recall", key)  # type: ignore[no-any-return]
