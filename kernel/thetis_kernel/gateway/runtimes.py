"""Sealed runtimes for the children: checked once, shared by all, handed over as descriptors."""

from __future__ import annotations

import os

from thetis_kernel.wasm.runtimes import seal


class Runtimes:
    """Memfds by world, sealed on first use. The descriptors stay open as long as the gateway."""

    def __init__(self) -> None:
        self._fds: dict[str, int] = {}

    def fds(self, *worlds: str) -> dict[str, int]:
        """{"runtime-<world>": fd} for spawning a child. Raises RuntimeBuildError when one is missing."""
        for world in worlds:
            if world not in self._fds:
                self._fds[world] = seal(world)
        return {f"runtime-{world}": self._fds[world] for world in worlds}

    def close(self) -> None:
        """Give the descriptors up; children keep theirs."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
