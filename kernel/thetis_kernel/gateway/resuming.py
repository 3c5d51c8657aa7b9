"""Turns a daemon takes up by itself when it starts: what its predecessor's death cut, and what a stop parked.

Owns which turns those are: the ones that were open when the daemon opened the log, by a note beside it that outlives another
death, and parked ones, by their end. What a screen found cut and offered stays offered: a person may have thought better of
it. A turn is begun again at most twice by itself (DESIGN 6). Must not know how a turn is run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.endings import PARKED
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.turns import MAX_ATTEMPTS, Turns
from thetis_kernel.store.store import Store

NAME = "cut.json"


class Cut:
    """The conversations a daemon has to go on with. `base`: the root's state directory."""

    def __init__(self, base: Path) -> None:
        self._path = base / NAME
        self._ids: set[str] = set()

    def note(self, store: Store) -> None:
        """Before anything is repaired: remember whose turns are open, with those an earlier daemon did not come to."""
        with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
            self._ids = set(msgspec.json.decode(self._path.read_bytes(), type=list[str]))
        self._ids |= {row.id for row in store.sessions() if row.open_turn and row.relation != "child"}
        if self._ids:
            beside = self._path.with_suffix(".new")
            with contextlib.suppress(OSError):  # a full disk: the turns are offered instead
                beside.write_bytes(msgspec.json.encode(sorted(self._ids)))
                os.replace(beside, self._path)

    async def resume(self, log: Log, turns: Turns) -> list[str]:
        """Go on with them; the ids of those begun. What cannot be begun stays offered."""
        begun = []
        for row in await asyncio.to_thread(log.store.sessions):
            if row.state != "interrupted" or row.damaged or row.relation == "child":
                continue
            with contextlib.suppress(ThetisError):  # a full disk: the conversation says so itself when somebody looks
                attempt = await self._attempt(log, row.id)
                if attempt and await turns.resume(row.id, attempt=attempt):
                    begun.append(row.id)
        self._ids.clear()
        self._path.unlink(missing_ok=True)
        return begun

    async def _attempt(self, log: Log, session: str) -> int:
        """The number its next automatic attempt has, 0 for none."""
        state = await log.state(session)
        if state.last_started is None or state.last_finished is None or state.waiting:
            return 0
        if session not in self._ids and state.last_finished.detail != PARKED:
            return 0
        attempt = state.last_started.attempt + 1
        return attempt if attempt <= MAX_ATTEMPTS else 0
