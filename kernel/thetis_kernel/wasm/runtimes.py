"""The runtimes of the worlds: made sure of, sealed for children, opened in them.

`ensure_runtimes` and `seal` are the gateway's half and import no wasmtime: building happens in child processes.
`open_runtime` is the child's half.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.paths import runtimes_dir
from thetis_kernel.wasm.builder import Progress, build_all
from thetis_kernel.wasm.cache import Cache
from thetis_kernel.wasm.keys import runtime_key
from thetis_kernel.wasm.settings import WORLDS

if TYPE_CHECKING:
    from thetis_kernel.wasm.engine import Runtime

__all__ = ["WORLDS", "Progress", "ensure_runtimes", "open_runtime", "runtime_digest", "runtime_key", "seal"]


def ensure_runtimes(
    worlds: Iterable[str], *, progress: Callable[[Progress], None], directory: Path | None = None
) -> None:
    """Build what is missing of `worlds`, tool and agent first, two at a time where memory allows.

    `directory`: the cache, by default `paths.runtimes_dir()`. Another process building the same is waited for.
    `progress` is called on this thread. Raises RuntimeBuildError; worlds built before a failure stay.
    """
    wanted = sorted(set(worlds), key=WORLDS.index)
    cache = Cache(directory or runtimes_dir())
    if not _missing(cache, wanted):
        return
    progress(Progress(world="", step="waiting", done=0, total=2 * len(wanted), seconds=0.0))
    with cache.locked():
        build_all(cache, _missing(cache, wanted), progress)


def _missing(cache: Cache, worlds: list[str]) -> dict[str, str]:
    keys = {world: runtime_key(world) for world in worlds}
    return {world: key for world, key in keys.items() if not cache.present(world, key)}


def seal(world: str, *, directory: Path | None = None) -> int:
    """A descriptor of the precompiled runtime in sealed memory, verified; the caller owns it and passes it to children.

    Raises RuntimeBuildError when it is missing or damaged (a damaged file is deleted, `ensure_runtimes` rebuilds it).
    """
    return Cache(directory or runtimes_dir()).seal(world, runtime_key(world))


def runtime_digest(world: str, *, directory: Path | None = None) -> str:
    """Digest of the runtime as built, for keys of what depends on it."""
    return Cache(directory or runtimes_dir()).digest(world, runtime_key(world))


def open_runtime(world: str, fd: int) -> Runtime:
    """Load and link the runtime behind a descriptor from `seal`. The descriptor may be closed afterwards."""
    from thetis_kernel.wasm.engine import Runtime, open_component

    if world not in WORLDS:
        raise RuntimeBuildError(f"There is no world {world}.", hint=f"Worlds: {', '.join(WORLDS)}.")
    where = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    return Runtime(world, open_component(f"{where}/{fd}"))
