"""`thetis doctor`: what this machine, this root and its log look like, each with the way out when something is wrong."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import sys
from importlib.metadata import version

import msgspec

from thetis_kernel import __version__
from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.errors import ThetisError
from thetis_kernel.paths import runtimes_dir
from thetis_kernel.protocol.client import Status

LOW_DISK = 1 << 30
"""Free bytes below which doctor says so."""


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at. `level`: ok, warn, error."""

    name: str
    level: str
    message: str
    hint: str = ""


def doctor(arguments: argparse.Namespace) -> int:
    """Print the findings; 0 when none is an error."""
    findings = [*_machine(), *_root(arguments)]
    if arguments.json:
        print(msgspec.json.encode({"version": __version__, "findings": findings}).decode())
    else:
        for finding in findings:
            print(plain(f"{finding.level:<5}  {finding.name:<10}  {finding.message}"))
            if finding.hint and finding.level != "ok":
                print(plain(f"{'':19}{finding.hint}"))
    return 1 if any(finding.level == "error" for finding in findings) else 0


def _machine() -> list[Finding]:
    from thetis_kernel.walls.probe import probe
    from thetis_kernel.wasm.runtimes import WORLDS, seal

    tier = probe(os.environ.get("PATH", ""))
    free = shutil.disk_usage(_existing(runtimes_dir())).free
    found = [
        Finding("version", "ok", f"thetis {__version__}, Python {platform.python_version()}, {platform.platform()}"),
        Finding("python", "ok" if sys.version_info >= (3, 11) else "error", f"Python {platform.python_version()}",
                "Thetis needs Python 3.11 or later."),
        Finding("walls", "error" if tier.name == "none" else "ok", f"{tier.name}: {tier.sentence}", tier.hint),
        Finding("disk", "ok" if free > LOW_DISK else "warn", f"{free >> 20} MiB free", "Free some space."),
        Finding("libraries", "ok", ", ".join(f"{name} {version(name)}" for name in ("apsw", "wasmtime", "pygit2", "textual"))),
    ]
    for world in WORLDS:
        try:
            os.close(seal(world))
            found.append(Finding("runtime", "ok", f"{world}: built"))
        except ThetisError as error:
            found.append(Finding("runtime", "warn", f"{world}: {error.message}", error.hint or "Run `thetis setup`."))
    return found


def _root(arguments: argparse.Namespace) -> list[Finding]:
    try:
        paths, loaded = locate(arguments)

        async def ask() -> Status:
            async with reached(paths, loaded, warm=False) as client:
                return await client.status()

        status = asyncio.run(ask())
    except ThetisError as error:
        return [Finding("root", "error", error.message, error.hint)]
    return [
        Finding("root", "ok", f"{status.root} ({status.root_kind}), trunk {status.trunk or '(none)'}"),
        Finding("state", "ok", str(paths.base)),
        *(Finding("notice", "warn", notice) for notice in status.notices),
    ]


def _existing(path: os.PathLike[str]) -> str:
    where = os.fspath(path)
    while not os.path.exists(where):
        where = os.path.dirname(where)
    return where
