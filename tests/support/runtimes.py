"""The built runtimes, once a test session: from THETIS_RUNTIMES or the default cache, built when missing."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from thetis_kernel.wasm.runtimes import ensure_runtimes, open_runtime, seal

if TYPE_CHECKING:
    from thetis_kernel.wasm.engine import Runtime


@cache
def runtime(world: str) -> Runtime:
    """The opened runtime of `world`."""
    ensure_runtimes([world], progress=lambda _: None)
    fd = seal(world)
    try:
        return open_runtime(world, fd)
    finally:
        os.close(fd)


@cache
def bundle(*modules: tuple[str, str]) -> str:
    """A bundle of (module name, source) pairs."""
    from thetis_kernel.wasm.compiler import compile_bundle

    return compile_bundle(runtime("compiler"), dict(modules))
