"""A judge that is thrown away: one gate host for one candidate, killed whatever it answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from thetis_kernel.errors import PeerGone
from thetis_kernel.protocol.gate import JudgeGuest, Verdict
from thetis_kernel.supervise.spawn import Plan, spawn

SECONDS = 60.0
"""For one candidate. The gate's own limits (20 s of processor time) end it long before, on a machine that is not stuck."""
AT_ONCE = 2
"""Gate hosts side by side; more would only slow each other down."""


class DisposableJudge:
    """`fds(*worlds)`: {"runtime-<world>": descriptor} of sealed runtimes. It is what `forge.service.Forge` takes as judge.

    Its hosts are no part of the fleet: one that a candidate brings down is that candidate's verdict, not a child that
    keeps dying and is parked.
    """

    def __init__(self, fds: Callable[..., Awaitable[Mapping[str, int]]], *, seconds: float = SECONDS) -> None:
        self._fds = fds
        self._seconds = seconds
        self._free = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, ask: JudgeGuest) -> Verdict:
        """The verdict. Raises PeerGone with how the host ended when the candidate brought it down, DeadlineExceeded,
        ChildError when it could not be started."""
        async with self._free:
            plan = Plan("gate", fds=await self._fds("compiler", ask.source.world))
            child = await spawn(plan, name=f"the gate of {ask.source.aspect}")
            try:
                return await child.peer.call(ask, timeout=self._seconds)
            except PeerGone as exc:
                ended = await child.wait()
                raise PeerGone(f"{child.name}: {ended.words}") from exc
            finally:
                child.kill()
                await child.wait()
