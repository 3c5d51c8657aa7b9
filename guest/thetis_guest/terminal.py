"""Commands inside the conversation's walls."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def run(command: str, *, cwd: str = "", timeout_ms: int = 0) -> dict[str, Any]:
    """Run a shell command; empty `cwd` and zero `timeout_ms` are the host's defaults.

    {"exit", "signal", "output", "truncated", "timed_out", "cancelled", "spill", "duration_ms"}.
    """
    options: dict[str, Any] = {}
    if cwd:
        options["cwd"] = cwd
    if timeout_ms:
        options["timeout_ms"] = timeout_ms
    return _bind.value("terminal", "run", command, _bind.dumps(options))  # type: ignore[no-any-return]
