"""How a turn ends in the log: every call answered, its work committed, exactly one turn-finished.

Must not know what begins or follows a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import StoreError, ThetisError
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.models import ModelRelay
from thetis_kernel.gateway.repository import Repository
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol.events import Body, Incident, SystemNote, ToolResult, TurnFinished
from thetis_kernel.protocol.worker import TurnOutcome

STOPPED = "Not run: the person stopped the turn."
STOPPED_RUNNING = "The person stopped the turn while this call was running. Its outcome is unknown; check before doing it again."
PARKED = "Thetis was stopped before the turn was over."
PARKED_NOTE = "Thetis was stopped in the middle of a turn. Calls that were running are marked as interrupted."
KILL_AFTER_S = 12.0
"""A stopped turn whose worker still has not answered after this long loses its worker."""


class Endings:
    """Ends turns. `discard(session)` ends a conversation's worker."""

    def __init__(self, log: Log, repository: Repository, models: ModelRelay, discard: Callable[[str], Awaitable[None]]) -> None:
        self._log = log
        self._repository = repository
        self._models = models
        self._discard = discard

    async def finish(self, turn: Turn, outcome: TurnOutcome, stopped_by: str) -> None:
        """The end of the turn into the log: after its commit, or before that when a person waits for it.

        Returns once the commit is made and the worker is free (or gone).
        """
        await turn.close()
        await self._settle(turn)
        clearing: asyncio.Future[None] | None = None
        if not turn.hurried.is_set():
            clearing = asyncio.ensure_future(self._clear_up(turn, outcome))
            hurried = asyncio.ensure_future(turn.hurried.wait())
            await asyncio.wait((clearing, hurried), return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
        state = await self._log.state(turn.session)
        crash.point("gateway.turn-end")
        if turn.stop.is_set():
            crash.point("cancel.settled")
        ended = turn.ended_by(stopped_by)
        parked = turn.parked and ended == "restarted"
        if parked:
            await self._log.append(turn.session, SystemNote(text=PARKED_NOTE, about="restart"))
        await self._log.append(turn.session, TurnFinished(
            turn=turn.id, stopped_by=ended, detail=PARKED if parked else outcome.detail,
            iterations=outcome.iterations or state.stats.iterations, tool_calls=state.stats.tool_calls,
            guest_calls=outcome.stores, usage=state.stats.usage,
            duration_ms=int((time.monotonic() - turn.started) * 1000), spent=state.turn_spent))
        if turn.stop.is_set():
            crash.point("cancel.ended")
        await self._models.remember(turn.session)
        await (clearing or self._clear_up(turn, outcome))

    async def _clear_up(self, turn: Turn, outcome: TurnOutcome) -> None:
        """Have the worker free (or gone) and the turn's work committed."""
        stuck = outcome.stuck
        if turn.late is not None:
            await asyncio.wait((turn.late,), timeout=KILL_AFTER_S)
            stuck = not turn.late.done() or (turn.late.exception() is None and turn.late.result().stuck)
        if stuck:
            await self._discard(turn.session)
            await self.incident(turn, "worker-stuck", "A guest did not return; the conversation's worker was replaced.")
        await self._repository.commit_turn(turn.session, turn.id)

    async def _settle(self, turn: Turn) -> None:
        """Answer the calls that have no result, so that the history stays one a model accepts."""
        bodies: list[Body] = []
        for body in await asyncio.to_thread(self._log.store.repairs, turn.session, after=turn.began - 1):
            if isinstance(body, ToolResult):
                words = (STOPPED if body.outcome == "cancelled" else STOPPED_RUNNING) if turn.stop.is_set() and not turn.parked \
                    else body.content
                bodies.append(msgspec.structs.replace(body, content=words))
        if bodies:
            await self._log.append_many(turn.session, bodies)

    async def last_resort(self, turn: Turn, error: Exception) -> None:
        """The log itself failed, or we did. Try once more to end the turn; if it cannot, the next start's recovery does."""
        detail = str(error) if isinstance(error, ThetisError) else f"An unexpected {type(error).__name__} ended the turn."
        with contextlib.suppress(StoreError):
            state = await self._log.state(turn.session)
            if state.turn is None or state.turn.turn != turn.id:
                return  # it has its end, or never got a beginning
            await self._settle(turn)
            await self._log.append(turn.session, TurnFinished(turn=turn.id, stopped_by="error", detail=detail))

    async def incident(self, turn: Turn, code: str, message: str, **data: Any) -> None:
        """Something of the turn a person should know."""
        await self._log.append(turn.session, Incident(code=code, message=message, data={"turn": turn.id, **data}))
