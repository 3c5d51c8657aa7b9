"""A worker that waits for the next conversation, so that its first turn does not wait for a process to start.

Only a daemon has one: it stays, and 30 MiB are worth the third of a second that `thetis run` would wait otherwise. Until a
conversation takes it, it is nobody's, and whatever it asks is refused; then its channel is that conversation's for good. Must
not know what workers ask.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.ipc.aio import AskHandlers, TellHandlers
from thetis_kernel.protocol.wire import Ask, Tell

NAME = "worker-spare"
AFTER_S = 1.0
"""How long after one was taken the next is started: the turn that took it goes first."""


class Seat:
    """The handlers of a worker's channel before and after it is somebody's. `asks` and `tells` only say of which kinds."""

    def __init__(self, asks: AskHandlers, tells: TellHandlers) -> None:
        self.asks: AskHandlers = dict.fromkeys(asks, self._serve)
        self.tells: TellHandlers = dict.fromkeys(tells, self._hear)
        self._asks: AskHandlers | None = None
        self._tells: TellHandlers = {}

    def take(self, asks: AskHandlers, tells: TellHandlers) -> None:
        """From now on the channel is that of who answers with these. Once."""
        if self._asks is not None:
            raise RuntimeError("a worker is one conversation's")
        self._asks, self._tells = asks, tells

    async def _serve(self, ask: Ask[Any]) -> Any:
        if self._asks is None:
            raise ThetisError("This worker is no conversation's yet.", code="turn-over")
        return await self._asks[type(ask)](ask)

    def _hear(self, tell: Tell) -> None:
        if type(tell) in self._tells:
            self._tells[type(tell)](tell)


class Spare:
    """`start(seat)` starts a worker under `NAME`; `kinds()` are handlers of the kinds every worker's channel has."""

    def __init__(self, start: Callable[[Seat], Any], kinds: Callable[[], tuple[AskHandlers, TellHandlers]]) -> None:
        self._start = start
        self._kinds = kinds
        self._seat: Seat | None = None
        self._task: asyncio.Task[None] | None = None

    def prepare(self, after: float = 0.0) -> None:
        """Start one in the background, unless one waits or is being started."""
        if self._seat is None and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._prepare(after), name="spare worker")

    async def _prepare(self, after: float) -> None:
        await asyncio.sleep(after)
        seat = Seat(*self._kinds())
        with contextlib.suppress(ThetisError):  # told as an incident; the next conversation starts its own
            await self._start(seat)
            self._seat = seat

    def seat(self) -> Seat | None:
        """The seat of the one that waits; it is not offered again, and the next one is prepared."""
        seat, self._seat = self._seat, None
        if seat is not None:
            self.prepare(AFTER_S)
        return seat

    def close(self) -> None:
        """Start none any more."""
        if self._task is not None:
            self._task.cancel()
