"""Threads for guests: daemons, with the stack wasm needs. Never an executor: its blocked thread keeps a process from exiting."""

from __future__ import annotations

import threading
from collections.abc import Callable

from thetis_kernel.wasm.settings import THREAD_STACK

_stack_size = threading.Lock()


def start_thread(body: Callable[[], None], name: str) -> None:
    """Run `body` on a thread of its own."""
    with _stack_size:  # the size is a global of the interpreter, read when a thread starts
        before = threading.stack_size(THREAD_STACK)
        try:
            threading.Thread(target=body, name=name, daemon=True).start()
        finally:
            threading.stack_size(before)
