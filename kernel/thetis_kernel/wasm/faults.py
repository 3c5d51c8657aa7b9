"""From what the engine or a shim says of a failed call to one `GuestError`."""

from __future__ import annotations

import json
from typing import Any

import wasmtime

from thetis_kernel.errors import GuestError

LAST_WORDS = "\x1fthetis-last-words "  # written by guest/shims/loader.py before an export without a result traps
KINDS = frozenset({"error", "memory", "exit", "type"})  # the kinds a guest may give its own failure

_SAID = 20_000  # characters; the shim's own tracebacks are at most 16,000
_MEMORY_SIGNS = ("MemoryError", "memory allocation of", "exceeds memory limits", "memory count", "out of memory")


def from_words(words: str) -> GuestError:
    """A guest's err text as an error: the shim's JSON, a guest's own JSON, or plain text."""
    try:
        said = json.loads(words)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        return GuestError(_short(words), kind="error", error={"code": "guest-error", "message": words, "hint": ""})
    kind = _text(said, "kind")
    error = {name: _text(said, name) for name in ("code", "message", "hint")}
    return GuestError(
        _short(error["message"] or words),
        kind=kind if kind in KINDS else "error",
        traceback=_short(_text(said, "traceback")),
        hint=_short(error["hint"]),
        error=error,
    )


def from_engine(error: BaseException, export: str, stderr: str) -> GuestError:
    """A trap or a refused instantiation as an error; `stderr` is what the guest's Python printed last."""
    mark = stderr.rfind(LAST_WORDS)
    if mark >= 0:
        return from_words(stderr[mark + len(LAST_WORDS) :].partition("\n")[0])
    said = str(error)
    if isinstance(error, wasmtime.ExitTrap):
        return GuestError(f"The guest left {export} by exiting with status {error.code}.", kind="exit", traceback=_short(stderr))
    if isinstance(error, wasmtime.Trap) and error.trap_code is not None:
        reason = error.trap_code.name.lower().replace("_", " ")
    else:
        reason = _reason(said)
    if any(sign in said or sign in stderr for sign in _MEMORY_SIGNS):
        return GuestError(f"The guest ran out of memory in {export}.", kind="memory", traceback=_short(stderr or said))
    return GuestError(f"The guest was stopped in {export}: {reason}.", kind="trap", traceback=_short(stderr or said))


def _reason(said: str) -> str:
    """The innermost cause of the engine's message, which stands last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1].split(": ", 1)[-1].rstrip(".") if lines else "no reason given"


def _short(text: str) -> str:
    """The beginning of what a guest said of itself: it may have said a great deal."""
    return text if len(text) <= _SAID else text[:_SAID] + "..."


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name, "")
    return value if isinstance(value, str) else str(value)
