"""Every guest of every body, judged again when the contract, the runtimes or the gate are others than the last time.

Done at start and by `thetis setup`, with progress. A guest that passes no longer is listed, with what serves instead: its
last revision that does, else the shipped one. What a conversation chose is not changed: should the contract go back, it
serves again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from thetis_kernel.errors import ThetisError, UsageError
from thetis_kernel.forge.key import gate_version
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.log import Log
from thetis_kernel.wasm.runtimes import WORLDS, runtime_digest

_STAMP = ".judged.json"
_PREFIX = "conv-"


class Failure(msgspec.Struct, frozen=True):
    """A guest that passes no longer: whose, which, why (step, file, line), and what serves instead."""

    session: str
    aspect: str
    why: str
    serves: str

    @property
    def sentence(self) -> str:
        """For a person."""
        whose = f"{self.aspect} of conversation {self.session[:8]}"
        return f"{whose} does not pass the gate any more ({self.why}); {self.serves} serves."


class Revalidation:
    """`directory`: where the checkouts of bodies lie. `find(short id)`: the conversation's id. `prepare(*worlds)`: sees to
    the runtimes. `progress(done, total)`."""

    def __init__(self, bodies: Bodies, log: Log, directory: Path, find: Callable[[str], Awaitable[str]],
                 prepare: Callable[..., Awaitable[object]], version: Callable[[], str] | None = None) -> None:
        self._bodies = bodies
        self._log = log
        self._directory = directory
        self._find = find
        self._prepare = prepare
        self._version = version or now

    async def run(self, progress: Callable[[int, int], None], *, always: bool = False) -> list[Failure]:
        """Judge what has to be judged again; nothing when the last time was under the same contract, runtimes and gate."""
        names = sorted(path.name for path in self._directory.glob(f"{_PREFIX}*")) if self._directory.is_dir() else []
        if not names:
            return []
        await self._prepare(*WORLDS)
        version = await asyncio.to_thread(self._version)
        if not always and await asyncio.to_thread(self._last) == version:
            return []
        wanted = [(session, aspect) for session in await self._sessions(names)
                  for aspect in sorted((await self._log.state(session)).guests)]
        failures = []
        for done, (session, aspect) in enumerate(wanted):
            progress(done, len(wanted))
            failures += await self._judged(session, aspect)
        if wanted:
            progress(len(wanted), len(wanted))
        await asyncio.to_thread(self._stamp, version)
        return failures

    async def _sessions(self, names: list[str]) -> list[str]:
        found = []
        for name in names:
            with contextlib.suppress(UsageError):  # deleted: its checkout is a leftover
                found.append(await self._find(name.removeprefix(_PREFIX)))
        return found

    async def _judged(self, session: str, aspect: str) -> list[Failure]:
        try:
            verdict = await self._bodies.serving(session, aspect)
        except ThetisError as error:
            return [Failure(session, aspect, error.message, "the shipped one")]
        if verdict is None or verdict.ok:
            return []
        step = verdict.steps[-1]
        places = [f"{one.path}{f':{one.line}' if one.line else ''}: {one.message}" for one in step.diagnostics[:1]]
        earlier = await self._bodies.compatible(session, aspect)
        serves = f"its revision {earlier[0].revision[:8]}" if earlier else "the shipped one"
        return [Failure(session, aspect, " ".join([step.step, *places]), serves)]

    def _last(self) -> str:
        try:
            return msgspec.json.decode((self._directory / _STAMP).read_bytes(), type=str)
        except (OSError, msgspec.MsgspecError):
            return ""

    def _stamp(self, version: str) -> None:
        with contextlib.suppress(OSError):  # then the next start judges again: known verdicts, a few ms each
            (self._directory / _STAMP).write_bytes(msgspec.json.encode(version))


def now() -> str:
    """What every verdict depends on: the runtimes as built, contract and engine in them, and the gate."""
    digest = hashlib.sha256(gate_version().encode())
    for world in WORLDS:
        digest.update(runtime_digest(world).encode())
    return digest.hexdigest()
