"""`thetis doctor`: what this machine, this root and its log look like, each with the way out when something is wrong.

With `--conversation` one conversation instead: whether its log verifies, and whether a model would take its history.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

import msgspec

from thetis_kernel import __version__
from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.errors import ThetisError
from thetis_kernel.paths import runtimes_dir
from thetis_kernel.protocol.client import Examination, Status
from thetis_kernel.protocol.ids import short

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
    findings = _conversation(arguments) if arguments.conversation else [*_machine(), *_root(arguments)]
    if arguments.json:
        print(msgspec.json.encode({"version": __version__, "findings": findings}).decode())
    else:
        for finding in findings:
            print(plain(f"{finding.level:<5}  {finding.name:<10}  {finding.message}"))
            if finding.hint and finding.level != "ok":
                print(plain(f"{'':19}{finding.hint}"))
    return 1 if any(finding.level == "error" for finding in findings) else 0


def _machine() -> list[Finding]:
    from thetis_kernel.forge.checkers import PROGRAMS, program
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
    for name in PROGRAMS:
        try:
            found.append(Finding("gate", "ok", f"{name} {version(name)}: {program(name)}"))
        except (ThetisError, PackageNotFoundError):
            found.append(Finding("gate", "error", f"{name} is missing, so no guest passes the gate.", "Install Thetis again."))
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


def _conversation(arguments: argparse.Namespace) -> list[Finding]:
    """Raises UsageError for an id nobody knows, and what keeps the root from being opened."""
    paths, loaded = locate(arguments)

    async def ask() -> Examination:
        async with reached(paths, loaded, warm=False) as client:
            return await client.examine((await client.conversation(arguments.conversation)).id)

    seen = asyncio.run(ask())
    line = seen.conversation
    name = short(line.id)
    found = [Finding("found", "ok", f"{name}, {line.state}: {line.title or line.preview or '(nothing was said yet)'}")]
    if line.state == "interrupted":
        found.append(Finding("turn", "warn", "Its last turn was cut.", f"Go on: thetis run --conversation {name} \"go on\""))
    if not seen.chain:
        found.append(Finding("log", "ok", f"Each of its {line.last_seq} events verifies."))
    cut = f"`thetis log {name}` prints what is good. Other conversations are not affected; begin a new one."
    found += [Finding("log", "error", words, cut) for words in seen.chain]
    refused = "A model may refuse the next turn. Begin a new conversation, and report this."
    found += [Finding("history", "error", words, refused) for words in seen.history]
    if seen.unseen:
        level = "warn" if seen.chain else "error"
        found.append(Finding("history", level, f"It was not looked at. {seen.unseen}"))
    elif not seen.history:
        said = {0: "nobody has said anything yet", 1: "the one message of a person is in it word for word"}.get(
            seen.said, f"all {seen.said} messages of a person are in it word for word")
        sizes = f"{seen.messages} message{'s' * (seen.messages != 1)}, {seen.size / 1024:.1f} KiB"
        found.append(Finding("history", "ok", f"The next request is one a model takes ({sizes}); {said}."))
    return found


def _existing(path: os.PathLike[str]) -> str:
    where = os.fspath(path)
    while not os.path.exists(where):
        where = os.path.dirname(where)
    return where
