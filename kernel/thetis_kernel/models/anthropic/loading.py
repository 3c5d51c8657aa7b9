"""Loads the SDK without the half of it that is never used here (ADR 6).

Its package imports, besides the client, helpers that run tools, other clouds' clients, helpers that assemble streams and,
through httpx, a command line with a terminal library: together half of the processor time and a quarter of the memory of the
import, while somebody waits for a first word. In their places stand empty modules. Where that does not work with some version,
the whole of it is loaded. Must be asked before anything else imports `anthropic` in a process.
"""

from __future__ import annotations

import importlib
import platform
import sys
import threading
import types

UNUSED: dict[str, tuple[str, ...]] = {
    "anthropic.lib.tools": ("beta_tool", "beta_async_tool"),
    "anthropic.lib.vertex": (),
    "anthropic.lib.bedrock": (),
    "anthropic.lib.foundry": ("AnthropicFoundry", "AsyncAnthropicFoundry"),
    "anthropic.lib.streaming": ("MessageStream", "AsyncMessageStream"),
}
"""Parts of the SDK its package imports and we never use, with the names it expects in them."""
_HTTPX_COMMAND_LINE = "httpx._main"
"""httpx does without it where what it needs is missing."""

_lock = threading.Lock()


def import_sdk() -> None:
    """Have the SDK loaded. Any thread; the first call costs most of half a second."""
    with _lock:
        if "anthropic" in sys.modules:
            return
        # Its first request asks the system for the processor's name, by a process; meanwhile there is time for that.
        threading.Thread(target=platform.platform, name="platform", daemon=True).start()
        before = set(sys.modules)
        _leave_out()
        try:
            importlib.import_module("anthropic")
        except (ImportError, AttributeError, TypeError):
            for name in set(sys.modules) - before:
                if name.partition(".")[0] in ("anthropic", "httpx"):
                    del sys.modules[name]
            importlib.import_module("anthropic")


def _leave_out() -> None:
    if "httpx" not in sys.modules:
        sys.modules[_HTTPX_COMMAND_LINE] = None  # type: ignore[assignment]  # what `import` takes for "there is none"
    for name, expected in UNUSED.items():
        empty = types.ModuleType(name)
        for each in expected:
            setattr(empty, each, type(each, (), {}))
        sys.modules.setdefault(name, empty)
