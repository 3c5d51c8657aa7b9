"""The least any guest needs: a log, the time, a pause, and a small store of its own in this conversation."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def log(message: str, level: str = "info") -> None:
    """A line for the conversation's diagnostics. level: debug, info, warn or error."""
    _bind.raw("sys", "log")(_bind.scrub(level), _bind.scrub(message))


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return int(_bind.raw("sys", "now-ms")())


def sleep(ms: int) -> None:
    """Pause. The time counts against the call's budget."""
    _bind.raw("sys", "sleep")(ms)


def kv_get(key: str) -> Any:
    """The value kept under `key` by this guest in this conversation, or None."""
    return _bind.value("sys", "kv-get", key)


def kv_put(key: str, value: Any) -> None:
    """Keep a JSON value under `key`."""
    _bind.text("sys", "kv-put", key, _bind.dumps(value))
