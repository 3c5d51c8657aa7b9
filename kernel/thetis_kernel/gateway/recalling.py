"""What a worker may ask beyond its conversation's projection: its originals, and the notes that belong to the root.

The project's notes are kept beside the log, under keys of their own, because they belong to no conversation; each carries the
time and the conversation it came from. Must not know agents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from thetis_kernel.clock import SYSTEM
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.gateway.bridged import is_bridged
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol.events import Event
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.recalling import KeepProjectNote, Originals, ReadOriginals, ReadProjectNotes

SCOPE = "notes:project"
INDEX = "all"
MAX_NOTES = 200
MAX_BYTES = 1 << 20


class Recalling:
    """Answers workers; `running(session)` is a conversation's turn."""

    def __init__(self, log: Log, running: Callable[[str], Turn | None]) -> None:
        self._log = log
        self._running = running
        self._writing = asyncio.Lock()

    def handlers(self, session: str) -> dict[type[Any], Any]:
        """The handlers of the worker of `session`."""

        async def originals(ask: ReadOriginals) -> Originals:
            return await self._originals(session, ask)

        async def notes(ask: ReadProjectNotes) -> dict[str, str]:
            if await is_bridged(self._log, session):
                raise Refused("Other people write into this conversation, so it does not read the project's notes.",
                              capability="read", hint="Its own can be read.")
            return await asyncio.to_thread(self._notes)

        async def keep(ask: KeepProjectNote) -> bool:
            if self._running(session) is None:
                raise ThetisError("This turn is over.", code="turn-over")
            return await self._keep(session, ask.key, ask.content)

        return {ReadOriginals: originals, ReadProjectNotes: notes, KeepProjectNote: keep}

    async def _originals(self, session: str, ask: ReadOriginals) -> Originals:
        if ask.child:
            started = (await self._log.state(ask.child)).started
            if started is None or started.relation != "child" or started.parent != session:
                raise Refused("That is no sub-agent of this conversation.", capability="read")
        return await asyncio.to_thread(self._read, ask.child or session, ask)

    def _read(self, session: str, ask: ReadOriginals) -> Originals:
        events: list[Event] = []
        size = 0
        for event in self._log.store.iterate(session, live=True, after=ask.first - 1):
            if event.seq > ask.last:
                break
            size += len(event.raw)
            if events and size > min(ask.max_bytes, MAX_BYTES):
                return Originals(events, event.seq)
            events.append(event)
        return Originals(events)

    def _notes(self) -> dict[str, str]:
        raw = self._log.store.kv_get(SCOPE, INDEX)
        return msgspec.json.decode(raw, type=dict[str, str]) if raw else {}

    async def _keep(self, session: str, key: str, content: str) -> bool:
        async with self._writing:
            notes = await asyncio.to_thread(self._notes)
            replaced = key in notes
            if not content:
                notes.pop(key, None)
            elif not replaced and len(notes) >= MAX_NOTES:
                raise ThetisError(f"The project has {MAX_NOTES} notes already.", code="note",
                                  hint="Forget one by remembering it with empty content.")
            else:
                told = {"content": content, "ts_ms": SYSTEM.now_ms(), "origin": f"conversation {short(session)}"}
                notes[key] = msgspec.json.encode(told).decode()
            encoded = self._log.scrubber.json(msgspec.json.encode(notes))
            await asyncio.to_thread(self._log.store.kv_put, SCOPE, INDEX, encoded)
            return replaced
