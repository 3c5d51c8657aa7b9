"""Sealed runtimes for the children: built when missing, checked once, shared by all, handed over as descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm.runtimes import Progress, ensure_runtimes, seal


class Runtimes:
    """Memfds by world, sealed on first use. The descriptors stay open as long as the gateway."""

    def __init__(self) -> None:
        self._progress: Callable[[Progress], None] = lambda _: None
        self._fds: dict[str, int] = {}
        self._lock = asyncio.Lock()
        self._ahead: Future[dict[str, int]] | None = None

    def telling(self, progress: Callable[[Progress], None]) -> Runtimes:
        """Itself, from now on calling `progress` on the event loop while something has to be built."""
        self._progress = progress
        return self

    def begin(self, *worlds: str) -> None:
        """Check and seal these on a thread before anybody asks, while this process is busy loading. Needs no event loop.

        What is missing or damaged is left for `fds`, which builds it and says so.
        """
        ahead: Future[dict[str, int]] = Future()
        self._ahead = ahead

        def work() -> None:
            sealed: dict[str, int] = {}
            try:
                with contextlib.suppress(RuntimeBuildError):
                    for world in worlds:
                        sealed[world] = seal(world)
            finally:
                ahead.set_result(sealed)

        threading.Thread(target=work, name="sealing runtimes", daemon=True).start()

    async def fds(self, *worlds: str) -> dict[str, int]:
        """{"runtime-<world>": fd} for spawning a child. Raises RuntimeBuildError when one cannot be built."""
        async with self._lock:
            if self._ahead is not None:
                sealed: dict[str, int] = await asyncio.shield(asyncio.wrap_future(self._ahead))
                self._ahead = None
                self._fds.update(sealed)
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
        if self._ahead is not None:
            self._ahead.add_done_callback(lambda ahead: _close(ahead.result()))
            self._ahead = None
        _close(self._fds)
        self._fds.clear()


def _close(fds: dict[str, int]) -> None:
    for fd in fds.values():
        os.close(fd)
