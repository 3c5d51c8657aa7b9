"""From a requirement to packages: pip in a bounded child inside the walls, what it brings judged again here.

The child has one directory to write to, the network, and nothing else of the person's; no code of a package runs. The
index is the person's: the setting `dependencies.index`, else what their own pip is set to.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel.errors import ThetisError, UsageError, WallError
from thetis_kernel.forge.packages import problem_of
from thetis_kernel.gateway.body import pipsettings, wheels
from thetis_kernel.paths import cache_home, state_home, user_config_file
from thetis_kernel.protocol.gate import Package
from thetis_kernel.protocol.plaintext import clean_line

if TYPE_CHECKING:
    from thetis_kernel.walls.tier import Tier

GUESTS_PYTHON = "3.14"
TIMEOUT_MS = 100_000
MAX_RESULT = 8 * 1024 * 1024
OUTPUT_BYTES = 16 * 1024
FILE_BYTES = 64 * 1024 * 1024
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_CLAUSE = r"(?:==|>=|<=|~=|!=|<|>)[ ]*[0-9A-Za-z.*+!]{1,32}"
REQUIREMENT = re.compile(rf"({_NAME})[ ]*((?:{_CLAUSE})(?:[ ]*,[ ]*{_CLAUSE}){{0,3}})?")
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_HINTS = {
    "native": "Look for a package of pure Python, or do it with a command in the checkout instead of in a guest.",
    "source-only": "Look for a package that has wheels, or write what is needed into the guest.",
    "not-found": "Look at the name and the version.",
    "index": "Look at the address of the index: the setting dependencies.index, or what pip is set to.",
    "index-timeout": "Look at the network, and at the address of the index.",
    "conflict": "Ask for versions that fit together.",
    "too-large": "Look for a smaller package, or write what is needed into the guest.",
    "damaged": "Look for another version.",
    "no-pip": "Install pip beside Thetis: python -m ensurepip.",
}


class DependencyError(ThetisError):
    """A package that cannot be taken into a guest; `code` says why (native, not-found, ...)."""

    code = "dependency"


class _Result(msgspec.Struct, frozen=True):
    packages: list[Package] = []
    code: str = ""
    message: str = ""


class Resolver:
    """`scratch`: where the child's directories are made; `allowed()`: whether a person lets commands run where there are no
    walls."""

    def __init__(self, scratch: Path, index: str, allowed: Callable[[], Awaitable[bool]],
                 environ: Mapping[str, str] = os.environ) -> None:
        self._scratch = scratch
        self._index = index
        self._allowed = allowed
        self._environ = environ
        shutil.rmtree(scratch, ignore_errors=True)  # what a kernel that died left

    async def resolve(self, wanted: list[str]) -> list[Package]:
        """The packages for all requirements together, with what they need, in name order; `wanted` is set for those named.

        Raises DependencyError with the reason when there is no such set, WallError without walls and consent.
        """
        from thetis_kernel.walls.probe import probe  # late: a gateway without a self-edit needs no walls of its own

        tier = await asyncio.to_thread(probe, self._environ.get("PATH", ""), (self._scratch.parent,))
        unwalled = tier.name == "none" and await self._allowed()
        if tier.name == "none" and not unwalled:
            raise WallError("Packages are fetched inside walls, and there are none on this machine.", hint=tier.hint)
        named = {wheels.normal(name_of(requirement)) for requirement in wanted}
        found = await asyncio.to_thread(self._fetched, wanted, tier, unwalled)
        return sorted((msgspec.structs.replace(package, wanted=package.name in named) for package in found),
                      key=lambda package: package.name)

    def _fetched(self, wanted: list[str], tier: Tier, unwalled: bool) -> list[Package]:
        from thetis_kernel.walls import private
        from thetis_kernel.walls.command import Command, Limits
        from thetis_kernel.walls.helper import Helpers
        from thetis_kernel.walls.runner import Runner
        from thetis_kernel.walls.toolchains import find

        self._scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        work = Path(tempfile.mkdtemp(dir=self._scratch))
        try:
            settings = pipsettings.of_the_person(self._environ)
            settings = pipsettings.network_only(settings) if self._index else settings
            script, order = work / "wheels.py", work / "order.json"
            script.write_bytes(Path(wheels.__file__).read_bytes())
            order.write_bytes(msgspec.json.encode({"environment": settings, "requirements": wanted, "index": self._index,
                                                   "python": GUESTS_PYTHON}))
            hidden = (state_home(self._environ), cache_home(self._environ), user_config_file(self._environ).parent)
            search = f"{Path(sys.executable).parent}:{self._environ.get('PATH', '')}"
            # What is the system's is there anyway; what is private stays so, and pip says that it misses it.
            readable = tuple(path for path in pipsettings.places(settings, self._index) if not private.why_not(path))
            command = Command(
                text=f"exec {shlex.quote(sys.executable)} -I {shlex.quote(str(script))} {shlex.quote(str(order))}",
                cwd=work, writable=(work,), readable=readable,
                toolchains=find(search, Path(self._environ.get("HOME", "/")), hidden), network=True, unwalled=unwalled,
                timeout_ms=TIMEOUT_MS, output_bytes=OUTPUT_BYTES, limits=Limits(file_bytes=FILE_BYTES, threads=64))  # fmt: skip
            with Helpers() as helpers:
                done = Runner(tier, helpers).run(command)
            if done.timed_out:
                raise DependencyError("The packages were not there in time.", code="index-timeout", hint=_HINTS["index-timeout"])
            return _checked(work / "result.json", done.output)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def name_of(requirement: str) -> str:
    """The project a requirement is about. Raises UsageError for what is no plain requirement."""
    found = REQUIREMENT.fullmatch(requirement.strip())
    if found is None:
        raise UsageError(f"{requirement[:80]!r} is no name of a package with, at most, versions.", code="bad-arguments",
                         hint='Say "idna" or "idna>=3,<4"; addresses, files and extras are not taken.')
    return wheels.normal(found[1])


def _checked(result: Path, output: str) -> list[Package]:
    """What the child wrote, as far as it is what it should be."""
    data = b""
    with contextlib.suppress(OSError), open(os.open(result, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        data = file.read(MAX_RESULT + 1)
    if not data or len(data) > MAX_RESULT:
        raise DependencyError(f"The packages could not be taken apart: {_said(output) or 'nothing came of it'}.", code="damaged",
                              hint=_HINTS["damaged"])
    try:
        found = msgspec.json.decode(data, type=_Result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DependencyError("The packages could not be taken apart: what came back is none.", code="damaged",
                              hint=_HINTS["damaged"]) from error
    if found.code:
        code = found.code if re.fullmatch(r"[a-z-]{1,20}", found.code) else "index"
        raise DependencyError(_said(found.message), code=code, hint=_HINTS.get(code, ""))
    for package in found.packages:
        if problem := problem_of(package):
            raise DependencyError(f"The package {_said(package.name)[:80]} {problem}.", code="unfit",
                                  hint="Look for another package, or write what is needed into the guest.")
    return found.packages


def _said(text: str) -> str:
    """Words of pip or of an index: one line, without control characters and credentials."""
    return clean_line(_CREDENTIALS.sub("***@", text))[:600]
