"""The gateway's children by what they do: one plan a role, made once, and how long an idle one stays."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from thetis_kernel.gateway.runtimes import Runtimes
from thetis_kernel.gateway.spare import NAME as SPARE
from thetis_kernel.gateway.spare import Seat, Spare
from thetis_kernel.ipc.aio import AskHandlers, TellHandlers
from thetis_kernel.paths import state_home, user_config_file
from thetis_kernel.supervise.fleet import OnIncident, Supervisor
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.record import Record, reap_leftovers
from thetis_kernel.supervise.spawn import Plan, spawn

HELPER_IDLE_S = 120.0
"""Git, model and face hosts start in a fraction of a second, so an idle one is not worth its memory."""
RECORD = "children.json"
PASSED_ON = ("THETIS_REHEARSAL_DELAY_MS", "THETIS_WALLS", "THETIS_BELL")
"""Settings of the environment that children read themselves."""


class Fleet:
    """Finds or starts the children. Handlers are given by the parts that own the answers."""

    def __init__(self, data: Path, runtimes: Runtimes, on_incident: OnIncident, worker_idle_s: float) -> None:
        self._runtimes = runtimes
        self._worker_idle_s = worker_idle_s
        self._record = data / RECORD
        self.supervisor = Supervisor(on_incident=on_incident, record=Record(self._record))
        self._settings = {
            "THETIS_STATE": str(state_home()),
            "THETIS_CONFIG": str(user_config_file()),
            **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        }
        self.kernel: Callable[[str], Awaitable[Path | None]] | None = None
        """(conversation) -> where its worker's kernel is imported from; None for where ours is."""
        self.hold: Callable[[str, int], Awaitable[None]] | None = None
        """(conversation, process): told of its worker whenever that is about to be used."""
        self.spare: Spare | None = None
        self.model_tells: TellHandlers = {}
        self.git_tells: TellHandlers = {}

    def reap(self) -> None:
        """End what a gateway that died left behind. Under the root's lock, before anything is started."""
        reap_leftovers(self._record)

    async def runtimes(self, *worlds: str) -> dict[str, int]:
        """Have these runtimes, building what is missing; descriptors for a child. Raises RuntimeBuildError."""
        return await self._runtimes.fds(*worlds)

    async def model(self) -> Child:
        """The model host."""
        return await self._helper("model", tells=self.model_tells)

    async def git(self) -> Child:
        """The git host."""
        return await self._helper("git", tells=self.git_tells)

    async def face(self) -> Child:
        """The face host."""
        return await self._helper("face", "gateway")

    async def net(self) -> Child:
        """The net host."""
        return await self._helper("net")

    async def worker(self, session: str, asks: AskHandlers, tells: TellHandlers) -> Child:
        """A conversation's worker. Raises ChildError, `child-parked` after too many deaths."""
        fds = await self._runtimes.fds("agent", "tool")
        there = self.supervisor.get(worker_name(session)) is not None
        kernel = None if there or self.kernel is None else await self.kernel(session)
        seat = self.spare.seat() if self.spare is not None and not there and kernel is None else None
        if seat is not None and self.supervisor.rename(SPARE, worker_name(session), idle=self._worker_idle_s) is not None:
            seat.take(asks, tells)
        plan = Plan(role="worker", settings=self._settings, fds=fds, asks=asks, tells=tells, kernel=kernel)
        child = await self.supervisor.ensure(worker_name(session), plan, idle=self._worker_idle_s)
        if self.hold is not None:
            await self.hold(session, child.pid)
        return child

    def keep_spare(self, kinds: Callable[[], tuple[AskHandlers, TellHandlers]]) -> None:
        """From now on have a worker ready for the next conversation; `kinds` as in `Spare`."""
        async def start(seat: Seat) -> None:
            fds = await self._runtimes.fds("agent", "tool")
            plan = Plan(role="worker", settings=self._settings, fds=fds, asks=seat.asks, tells=seat.tells)
            await self.supervisor.ensure(SPARE, plan)

        self.spare = Spare(start, kinds)
        self.spare.prepare()

    async def probe(self, kernel: Path) -> None:
        """Start a worker with another kernel, and end it once it has said hello. Raises ChildError when it does not."""
        fds = await self._runtimes.fds("agent", "tool")
        child = await spawn(Plan(role="worker", settings=self._settings, fds=fds, kernel=kernel), name="a branch's kernel",
                            crash_points=False)
        await child.terminate(1.0)

    async def stop(self, name: str) -> None:
        """End a child by its name; nothing when there is none."""
        await self.supervisor.stop(name)

    async def close(self) -> None:
        """End them all."""
        if self.spare is not None:
            self.spare.close()
        await self.supervisor.close()

    def parked(self, session: str) -> bool:
        """Whether the conversation's worker is not started any more."""
        return worker_name(session) in self.supervisor.parked()

    async def _helper(self, role: str, *worlds: str, tells: Any = None) -> Child:
        fds = await self._runtimes.fds(*worlds)
        plan = Plan(role=role, settings=self._settings, fds=fds, tells=tells or {})
        return await self.supervisor.ensure(role, plan, idle=HELPER_IDLE_S)


def worker_name(session: str) -> str:
    """The supervisor's name of a conversation's worker."""
    return f"worker:{session}"
