"""Sub-agents of this conversation: begin them, look at them, end them. A sub-agent has none of its own.

A child is named by its id, the beginning of it, or its label.
"""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def spawn(label: str, task: str, *, profile: str = "", model: str = "", mode: str = "") -> dict[str, Any]:
    """{"child", "label", "mode", "model", "profile"}, once the child is durable and begun."""
    request = {"label": label, "task": task, "profile": profile, "model": model, "mode": mode}
    return _bind.value("agents", "spawn", _bind.dumps(request))  # type: ignore[no-any-return]


def status(child: str = "") -> dict[str, Any]:
    """{"agents": [{"child", "label", "state", "last", "elapsed_ms", "steps", "tokens", "result", ...}], "purse"}."""
    return _bind.value("agents", "status", child)  # type: ignore[no-any-return]


def transcript(child: str, after: int = 0) -> dict[str, Any]:
    """{"child", "label", "text", "next", "end"}: what the child did, a page of it."""
    return _bind.value("agents", "transcript", child, after)  # type: ignore[no-any-return]


def cancel(child: str) -> dict[str, Any]:
    """End a child; answers as status."""
    return _bind.value("agents", "cancel", child)  # type: ignore[no-any-return]


def profiles() -> dict[str, Any]:
    """{"profiles": [{"id", "label", "description", "mode", "model"}]}."""
    return _bind.value("agents", "profiles")  # type: ignore[no-any-return]
