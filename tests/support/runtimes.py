"""The built runtimes, once a test process: from THETIS_RUNTIMES or the default cache, built when missing.

The test session's environment may hide the developer's home; the cache is looked up before that happens.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from thetis_kernel.paths import runtimes_dir
from thetis_kernel.wasm.runtimes import ensure_runtimes, open_runtime, seal

if TYPE_CHECKING:
    from thetis_kernel.wasm.engine import Runtime

DIRECTORY = runtimes_dir()


@cache
def runtime(world: str) -> Runtime:
    """The opened runtime of `world`."""
    ensure_runtimes([world], progress=lambda _: None, directory=DIRECTORY)
    fd = seal(world, directory=DIRECTORY)
    try:
        return open_runtime(world, fd)
    finally:
        os.close(fd)


@cache
def bundle(main: str, **modules: str) -> str:
    """A bundle of the entry module `main` and others, from source."""
    from thetis_kernel.wasm.compiler import compile_bundle

    return compile_bundle(runtime("compiler"), {"main": main, **modules})


def call(world: str, code: str, export: str, *args: str, **options: Any) -> str:
    """Compile `code` and call it once. Options: imports, limits, and whatever else GuestCall takes."""
    from thetis_kernel.wasm.call import GuestCall
    from thetis_kernel.wasm.limits import PROBE_LIMITS

    imports, limits = options.pop("imports", {}), options.pop("limits", PROBE_LIMITS)
    return GuestCall(runtime(world), bundle(code), imports, limits, **options).run(export, *args)
