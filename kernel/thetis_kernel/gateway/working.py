"""A begun turn carried to its worker and back: the place to work, the process, the guests, the call, and a stop meanwhile.

A sub-agent's turn runs in the process and the checkout of the conversation it belongs to (`turn.home`), and may do nothing
that one may not. Must not know what begins or ends a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from thetis_kernel.config.modes import Mode, Modes
from thetis_kernel.config.settings import Settings
from thetis_kernel.config.subagents import narrower
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.describing import description
from thetis_kernel.gateway.endings import Endings
from thetis_kernel.gateway.guests import Guests
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.models import ModelRelay
from thetis_kernel.gateway.repository import Repository
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.gateway.workers import Workers
from thetis_kernel.protocol.ids import new_turn_id
from thetis_kernel.protocol.worker import CancelTurn, Place, RunTurn, TurnOutcome

STOP_WAIT_S = 0.12
"""A stopped turn has its end in the log after this long at the latest, whatever its worker still does: the person was
promised 200 ms. What a healthy worker needs is about 20 ms, 60 when it has to end a command."""


class Working:
    """`before`: what is done before a turn is described to the agent."""

    def __init__(self, log: Log, repository: Repository, guests: Guests, settings: Settings, modes: Modes, endings: Endings,
                 models: ModelRelay, before: Sequence[Callable[[str], Awaitable[None]]]) -> None:
        self._log = log
        self._repository = repository
        self._guests = guests
        self._settings = settings
        self._modes = modes
        self._endings = endings
        self._models = models
        self._before = before
        self._places: dict[str, Place] = {}

    async def run(self, turn: Turn, workers: Workers | None) -> TurnOutcome:
        """How the agent ended. Raises ThetisError when it could not be asked, IpcError when its worker died."""
        if workers is None:
            raise ThetisError("The gateway is not open.", code="closing")
        place = asyncio.ensure_future(self._place(turn))
        others = asyncio.gather(
            workers.ensure(turn.home), self._guests.agent(turn.home), self._guests.tools(turn.home))
        others.add_done_callback(lambda done: done.cancelled() or done.exception())  # a stop does not wait for them
        try:
            await turn.unless_stopped(place, others)
        finally:
            place.cancel()
        worker, agent, tools = others.result()
        for prepare in self._before:
            await prepare(turn.session)
        described = await self.described(turn)
        turn.deliver = worker.peer.tell  # first: a mode changed from here on is told, one changed before is read below
        mode = await self.mode(turn)
        ask = RunTurn(
            turn=turn.id, turn_json=described, agent=agent, tools=tools, child=turn.child, label=turn.label,
            place=msgspec.structs.replace(place.result(), mode=mode.id, read_only=mode.read_only, ask=list(mode.ask),
                                          max_wait_s=self._settings.subagents.max_wait_seconds))
        running = asyncio.ensure_future(worker.peer.call(ask, timeout=None))
        stopped = asyncio.ensure_future(turn.stop.wait())
        try:
            await asyncio.wait((running, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                worker.peer.tell(CancelTurn(turn=turn.id))
                await asyncio.wait((running,), timeout=STOP_WAIT_S)
            if not running.done():
                turn.late = running
                return TurnOutcome(stopped_by="cancelled", detail="Stopped.")
            outcome = running.result()
        finally:
            stopped.cancel()
            turn.deliver = None
        if outcome.failure:
            await self._endings.incident(turn, f"guest-{outcome.failure}", f"The agent failed: {outcome.detail}",
                                         traceback=outcome.traceback[-8000:])
        return outcome

    async def described(self, turn: Turn) -> bytes:
        """The JSON for `handle-turn`, as far as the gateway knows it."""
        state = await self._log.state(turn.session)
        return description(turn, state, self._modes, await self._models.models(), self._settings)

    async def unstarted(self, session: str) -> tuple[str, bytes]:
        """The id and description of a turn that is not run: for looking at what the agent would do with the log."""
        turn = Turn(session, new_turn_id(), 0)
        return turn.id, await self.described(turn)

    async def mode(self, turn: Turn) -> Mode:
        """What the turn may do now: for a sub-agent's, nothing that its conversation may not now."""
        mode = self._modes.get((await self._log.state(turn.session)).mode)
        if not turn.child:
            return mode
        return narrower(self._modes.get((await self._log.state(turn.home)).mode), mode)

    async def _place(self, turn: Turn) -> Place:
        """A sub-agent works where the turn that began it works, which is there already."""
        if turn.child and turn.home in self._places:
            return self._places[turn.home]
        place = self._places[turn.home] = await self._repository.ensure_worktree(turn.home)
        return place
