"""Read-only facts for gateway guests."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def events(session: str, after: int = 0, max_bytes: int = 1 << 20) -> dict[str, Any]:
    """A page of a conversation's events: {"events", "next", "end"}."""
    return _bind.value("view", "events", session, after, max_bytes)  # type: ignore[no-any-return]


def sessions() -> list[dict[str, Any]]:
    """The conversations."""
    return _bind.value("view", "sessions")  # type: ignore[no-any-return]


def skills() -> list[dict[str, Any]]:
    """The skills."""
    return _bind.value("view", "skills")  # type: ignore[no-any-return]
