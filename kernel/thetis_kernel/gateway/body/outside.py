"""Looks after the checkouts of bodies: what a person edits in one is judged as soon as it rests, and the person is told.

Looking is a walk over names and times, once a second (0.1 ms a guest); nothing of the system's notices is relied on. A
checkout is judged when two looks in a row saw the same, so that an editor that writes several files is not judged in
between; what was last seen is kept, so that edits made while no gateway ran are found at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.body import byhand
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.protocol.client import Notice
from thetis_kernel.protocol.events import SHIPPED

EVERY_S = 1.0
_SEEN = ".seen.json"
_PREFIX = "conv-"


class Outside:
    """`directory`: where the checkouts lie. `find(short id)`: the conversation's id. `tell` reaches every client."""

    def __init__(self, bodies: Bodies, directory: Path, find: Callable[[str], Awaitable[str]],
                 tell: Callable[[Notice], None], every_s: float = EVERY_S) -> None:
        self._bodies = bodies
        self._directory = directory
        self._find = find
        self._tell = tell
        self._every_s = every_s
        self._moving: dict[str, str] = {}
        self._settled: dict[str, str] | None = None

    async def watch(self) -> None:
        """Look, for ever."""
        while True:
            await self.look()
            await asyncio.sleep(self._every_s)

    async def look(self) -> list[dict[str, Any]]:
        """One look; the verdicts of what was judged."""
        found = await asyncio.to_thread(self._signatures)
        if self._settled is None:
            self._settled = await asyncio.to_thread(self._recalled)
        verdicts: list[dict[str, Any]] = []
        for name, signature in found.items():
            if signature == self._settled.get(name):
                self._moving.pop(name, None)
            elif self._moving.get(name) != signature:
                self._moving[name] = signature
            else:
                self._moving.pop(name, None)
                try:
                    verdicts += await self._rested(name)
                except OSError:
                    continue  # a file went while it was read: an editor is at work again
                self._settled[name] = await asyncio.to_thread(byhand.signature, self._directory / name)
                await asyncio.to_thread(self._remember, dict(self._settled))
        return verdicts

    async def _rested(self, name: str) -> list[dict[str, Any]]:
        try:
            session = await self._find(name.removeprefix(_PREFIX))
            verdicts = await self._bodies.by_hand(session)
        except ThetisError as error:
            if error.code != "no-session":  # else the conversation is deleted, and its checkout a leftover
                self._tell(Notice(level="warn", message=f"An edit in {name} could not be judged: {error.message}",
                                  hint=error.hint))
            return []
        for verdict in verdicts:
            self._tell(told(verdict, session))
        return verdicts

    def _signatures(self) -> dict[str, str]:
        try:
            names = sorted(name for name in os.listdir(self._directory) if name.startswith(_PREFIX))
        except OSError:
            return {}  # nobody has changed a guest here yet, or nothing can be seen now
        found = {name: byhand.signature(self._directory / name) for name in names}
        return {name: signature for name, signature in found.items() if signature}

    def _recalled(self) -> dict[str, str]:
        """What was seen last; nothing when that cannot be read: then everything is compared once."""
        try:
            return msgspec.json.decode((self._directory / _SEEN).read_bytes(), type=dict[str, str])
        except (OSError, msgspec.MsgspecError):
            return {}

    def _remember(self, settled: dict[str, str]) -> None:
        there = {name: signature for name, signature in settled.items() if (self._directory / name).is_dir()}
        fresh = self._directory / f"{_SEEN}.new"
        with contextlib.suppress(OSError):  # then the next start compares once more than it must
            fresh.write_bytes(msgspec.json.encode(there))
            fresh.replace(self._directory / _SEEN)


def told(verdict: dict[str, Any], session: str) -> Notice:
    """What the person is told of the verdict over an edit."""
    aspect, revision = verdict["aspect"], str(verdict["revision"])
    if not verdict["ok"]:
        return Notice(level="warn", session=session, message=f"Your edit of {aspect} does not pass the gate; what ran goes on "
                      "running, and the file stays as you wrote it.", hint=byhand.reason(verdict))
    if revision == SHIPPED:
        words = f"{aspect} is gone from this conversation." if verdict["gone"] else f"The shipped {aspect} serves again."
        return Notice(level="info", session=session, message=words)
    return Notice(level="info", session=session,
                  message=f"Your edit of {aspect} passes the gate: revision {revision[:8]} serves from the next turn on.")
