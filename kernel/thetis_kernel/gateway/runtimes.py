"""Sealed runtimes for the children: built when missing, checked once, shared by all, handed over as descriptors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm.runtimes import Progress, ensure_runtimes, seal


class Runtimes:
    """Memfds by world, sealed on first use. The descriptors stay open as long as the gateway.

    `progress` is called on the event loop while something has to be built.
    """

    def __init__(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        self._progress = progress
        self._fds: dict[str, int] = {}
        self._lock = asyncio.Lock()

    async def fds(self, *worlds: str) -> dict[str, int]:
        """{"runtime-<world>": fd} for spawning a child. Raises RuntimeBuildError when one cannot be built."""
        async with self._lock:
            missing = [world for world in worlds if world not in self._fds]
            if missing:
                self._fds.update(await asyncio.to_thread(self._seal, missing, asyncio.get_running_loop()))
        return {f"runtime-{world}": self._fds[world] for world in worlds}

    def _seal(self, worlds: list[str], loop: asyncio.AbstractEventLoop) -> dict[str, int]:
        def tell(progress: Progress) -> None:
            loop.call_soon_threadsafe(self._progress, progress)

        ensure_runtimes(worlds, progress=tell)
        sealed = {}
        for world in worlds:
            try:
                sealed[world] = seal(world)
            except RuntimeBuildError:  # damaged: `seal` removed it, so this builds it anew
                ensure_runtimes([world], progress=tell)
                sealed[world] = seal(world)
        return sealed

    def close(self) -> None:
        """Give the descriptors up; children keep theirs."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
