"""Guests of a conversation's own are looked at while nothing runs: is the agent still well, does the renderer still draw?

A revision that passed the gate can fail later (what it reads has grown, a date has come), and who finds out should not be the
next turn. Only conversations whose worker lives and in which something happened lately are looked at, one after another, a look
every `EVERY_S` after the last has ended: late looks are late, never many at once. A look that fails counts with the watchdog like
a failure in service; one that goes well proves nothing and forgives nothing, since it is no turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.body.watchdog import HARD, Watchdog
from thetis_kernel.gateway.log import Log

EVERY_S = 30.0
AWAKE_S = 300.0
"""How long after the last event a conversation is looked at: a worker that is left alone must become idle and go."""


class Finding(NamedTuple):
    """What a look found: a kind of failure ("" = none) and its words."""

    kind: str = ""
    detail: str = ""


Look = Callable[[str], Awaitable[Finding | None]]
"""Looks at the guest of a conversation; None when it cannot be looked at now. May raise ThetisError, which says nothing."""


class Prober:
    """`living()`: conversations with a worker. `busy(session)`: whether a turn of it runs. `looks`: by aspect."""

    def __init__(self, log: Log, watchdog: Watchdog, living: Callable[[], Iterable[str]], busy: Callable[[str], bool],
                 looks: dict[str, Look], clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._watchdog = watchdog
        self._living = living
        self._busy = busy
        self._looks = looks
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    async def watch(self) -> None:
        """Look again and again; ends with its task."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.look()

    async def look(self) -> None:
        """One look at every conversation that is awake and at rest."""
        living = list(self._living())
        self._seen = {session: seen for session, seen in self._seen.items() if session in living}
        for session in living:
            with contextlib.suppress(ThetisError):  # its worker went, its log is damaged: told by whoever needs them
                await self._look_at(session)

    async def _look_at(self, session: str) -> None:
        state = await self._log.state(session)
        seq, since = self._seen.get(session, (-1, 0.0))
        if state.seq != seq:
            since = self._clock()
            self._seen[session] = state.seq, since
        if self._clock() - since > AWAKE_S:
            return
        for aspect, look in self._looks.items():
            if aspect not in state.guests or self._busy(session):
                continue
            found = await look(session)
            # An exception may be the look's own doing: it is no turn, and not every import answers in it.
            if found is not None and found.kind in HARD | {"type"}:
                await self._watchdog.failed(session, aspect, found.kind, f"looked at while nothing ran: {found.detail}")
