"""The runtimes of one worker, opened when a turn first needs them and kept: opening one takes as long as a call in it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from thetis_kernel.wasm.limits import TOOL_LIMITS
from thetis_kernel.wasm.runtimes import open_runtime
from thetis_kernel.wasm.spares import Spares

if TYPE_CHECKING:
    from thetis_kernel.wasm.engine import Runtime


class Runtimes:
    """`fds`: descriptors of sealed runtimes, "runtime-" and the world's name; they stay open. Any thread."""

    def __init__(self, fds: dict[str, int]) -> None:
        self._fds = fds
        self._lock = threading.Lock()
        self._opened: dict[str, Runtime] = {}
        self.spare_tools = Spares(self.tool, TOOL_LIMITS)
        """Held while a turn runs: tools that were called before will be again."""

    def agent(self) -> Runtime:
        """The agent's. Raises RuntimeBuildError."""
        return self._open("agent")

    def tool(self) -> Runtime:
        """The tools'. Raises RuntimeBuildError."""
        return self._open("tool")

    def _open(self, world: str) -> Runtime:
        with self._lock:
            if world not in self._opened:
                self._opened[world] = open_runtime(world, self._fds[f"runtime-{world}"])
            return self._opened[world]
