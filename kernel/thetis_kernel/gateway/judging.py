"""A judge that is thrown away: one gate host for one candidate, killed whatever it answered."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from thetis_kernel.errors import ChildError, PeerGone
from thetis_kernel.protocol.gate import JudgeGuest, Verdict
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

SECONDS = 60.0
"""For one candidate. The gate's own limits (20 s of processor time) end it long before, on a machine that is not stuck."""
AT_ONCE = 2
"""Gate hosts side by side; more would only slow each other down."""


SPARE_S = 90.0
"""How long a spare waits for the next edit; a person or a model that mends something is back sooner."""


SPARE_AFTER_S = 0.1
"""How long after a verdict the next spare is started: keeping, committing and logging what passed goes first."""


SCRATCH = "thetis-gate-"
SCRATCH_S = 3600.0
"""A gate host lives for a few minutes at most; a directory older than that was left by a gateway that was killed."""


def sweep_scratch() -> None:
    """Remove what gate hosts of killed gateways left in the system's directory for such things, of this user's alone."""
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        try:
            found = path.lstat()
        except OSError:
            continue  # its own gateway was first
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and time.time() - found.st_mtime > SCRATCH_S:
            shutil.rmtree(path, ignore_errors=True)


class DisposableJudge:
    """`fds(*worlds)`: {"runtime-<world>": descriptor} of sealed runtimes. It is what `forge.service.Forge` takes as judge.

    Its hosts are no part of the fleet: one that a candidate brings down is that candidate's verdict, not a child that
    keeps dying and is parked. With `spare_s`, a host for the world judged last is started ahead of the next edit and waits
    that many seconds: its start would be half of the time from an edit to its verdict.
    """

    def __init__(self, fds: Callable[..., Awaitable[Mapping[str, int]]], *, seconds: float = SECONDS,
                 spare_s: float = 0.0) -> None:
        self._fds = fds
        self._seconds = seconds
        self._spare_s = spare_s
        self._free = asyncio.Semaphore(AT_ONCE)
        self._spare: tuple[str, asyncio.Task[Child]] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._swept = False

    async def __call__(self, ask: JudgeGuest) -> Verdict:
        """The verdict. Raises PeerGone with how the host ended when the candidate brought it down, DeadlineExceeded,
        ChildError when it could not be started."""
        async with self._free:
            child = await self._host(ask.source.world)
            try:
                return await child.peer.call(ask, timeout=self._seconds)
            except PeerGone as exc:
                ended = await child.wait()
                raise PeerGone(f"{child.name}: {ended.words}") from exc
            finally:
                child.kill()
                await child.wait()
                self._start_spare(ask.source.world)

    async def close(self) -> None:
        """End the spare host, if there is one; none is started any more."""
        self._spare_s = 0.0
        if self._expiry is not None:
            self._expiry.cancel()
        await self._end_spare()

    async def _host(self, world: str) -> Child:
        """The spare when it is for this world and alive, else a new one."""
        if self._spare is not None and self._spare[0] == world:
            (_, starting), self._spare = self._spare, None
            try:
                child = await starting
            except ChildError:
                return await self._spawn(world)
            if child.alive:
                return child
            await child.wait()
        return await self._spawn(world)

    async def _spawn(self, world: str) -> Child:
        """A gate host with a directory of its own to write to, which is removed when the process has ended."""
        fds = await self._fds("compiler", world)
        if not self._swept:
            self._swept = True
            await asyncio.to_thread(sweep_scratch)
        scratch = tempfile.mkdtemp(prefix=SCRATCH)
        settings = {"THETIS_SCRATCH": scratch}
        try:
            return await spawn(Plan("gate", fds=fds, settings=settings), name=f"the gate of a {world}",
                               on_exit=lambda *_: shutil.rmtree(scratch, ignore_errors=True))  # fmt: skip
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise

    async def _spawn_soon(self, world: str) -> Child:
        await asyncio.sleep(SPARE_AFTER_S)
        return await self._spawn(world)

    def _start_spare(self, world: str) -> None:
        if self._spare_s <= 0:
            return
        loop = asyncio.get_running_loop()
        if self._spare is not None and self._spare[0] != world:
            self._ending = loop.create_task(_end(self._spare[1]))
            self._spare = None
        if self._spare is None:
            self._spare = (world, loop.create_task(self._spawn_soon(world), name=f"spare gate for a {world}"))
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = loop.call_later(self._spare_s, self._expire)

    def _expire(self) -> None:
        self._ending = asyncio.get_running_loop().create_task(self._end_spare())

    async def _end_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            await _end(spare[1])


async def _end(starting: asyncio.Task[Child]) -> None:
    try:
        child = await starting
    except ChildError:
        return  # it never was
    child.kill()
    await child.wait()
