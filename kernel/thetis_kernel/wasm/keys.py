"""What a built runtime depends on, as one digest. Reads versions and settings without importing wasmtime."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.paths import builtin_root
from thetis_kernel.wasm.settings import ENGINE_SETTINGS, FORMAT, WORLDS

SHARED_SHIMS = ("loader.py", "sandbag.py", "stdlib.py")


def build_inputs(world: str) -> list[Path]:
    """The files a runtime is built from: contract, shims, SDK."""
    root = builtin_root()
    shims = root / "guest" / "shims"
    sdk = sorted((root / "guest" / "thetis_guest").rglob("*.py"))
    shared = [] if world == "compiler" else [*(shims / name for name in SHARED_SHIMS), *sdk]
    return [root / "wit" / "thetis.wit", shims / f"{world}_shim.py", *shared]


def runtime_key(world: str) -> str:
    """Hex digest over contract, shim, SDK, toolchain versions, engine settings and processor features.

    Raises RuntimeBuildError when a source file or a toolchain package is missing.
    """
    if world not in WORLDS:
        raise RuntimeBuildError(f"There is no world {world}.", hint=f"Worlds: {', '.join(WORLDS)}.")
    digest = hashlib.sha256()
    try:
        for path in build_inputs(world):
            content = path.read_bytes()
            digest.update(f"{path.name}:{len(content)}:".encode() + content)
    except OSError as error:
        raise RuntimeBuildError(
            f"A part of the {world} runtime is missing: {error.filename}.", hint="Reinstall Thetis."
        ) from error
    return hashlib.sha256(f"{digest.hexdigest()}:{world}:{_toolchain()}".encode()).hexdigest()


@lru_cache(maxsize=1)
def _toolchain() -> str:
    return json.dumps(
        [FORMAT, _version("componentize-py"), _version("wasmtime"), ENGINE_SETTINGS, platform.machine(), _cpu_features()],
        sort_keys=True,
    )


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise RuntimeBuildError(
            f"The package {distribution} is not installed.", hint=f"Install it: pip install {distribution}"
        ) from None


def _cpu_features() -> str:
    """Native code is compiled for this processor's features; another machine sharing the cache must not run it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("flags", "Features"):
                return " ".join(sorted(value.split()))
    except OSError:
        pass  # not Linux: the processor's name has to do
    return platform.processor()
