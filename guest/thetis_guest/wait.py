"""Sleeping until children settle, a terminal's command ends, the person speaks, or time is up. Costs no tokens."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def until(
    until: str = "", children: list[str] | None = None, *, terminal: str = "", timeout_secs: int = 0
) -> dict[str, Any]:
    """{"woken_by", "waited_ms", "agents", "terminal"}; "" and 0 are the host's defaults."""
    query: dict[str, Any] = {"children": children or []}
    if until:
        query["until"] = until
    if terminal:
        query["terminal"] = terminal
    if timeout_secs:
        query["timeout_secs"] = timeout_secs
    return _bind.value("wait", "until", _bind.dumps(query))  # type: ignore[no-any-return]
