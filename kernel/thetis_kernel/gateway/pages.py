"""Pages of a conversation's log as clients see it: a fork's begins with what it inherited, and what a rewind left behind is
read like everything else but not drawn."""

from __future__ import annotations

import asyncio
from itertools import islice

from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.rendering import Renderer
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.events import Event
from thetis_kernel.store.projection import live, on

MAX_PAGE = 1 << 20
"""Bytes of one answer."""


class Pages:
    """Reads and draws the line of one conversation at a time."""

    def __init__(self, log: Log, renderer: Renderer) -> None:
        self._log = log
        self._renderer = renderer

    async def read(self, session: str, after: int, limit: int) -> list[Event]:
        """At most `limit` events after number `after`, inherited ones too."""
        store = self._log.store
        state = await self._log.state(session)
        if state.started is not None and state.started.relation == "fork" and after < state.started.parent_seq:
            return await asyncio.to_thread(lambda: list(islice(store.iterate(session, after=after), limit)))
        return await asyncio.to_thread(store.read, session, after, limit, MAX_PAGE)

    async def draw(self, session: str, after: int, upto: int) -> list[RenderedEvent]:
        """The blocks of the events with `after` < seq <= `upto`; none for those that are not on the live branch."""
        events = [event for event in await self.read(session, after, upto - after) if event.seq <= upto]
        drawn = await self._renderer.render(session, events)
        rewinds = (await self._log.state(session)).rewinds
        if not rewinds:
            return drawn
        branch = live((await self._log.state(session)).seq, rewinds)
        return [each if on(branch, each.seq) else RenderedEvent(seq=each.seq, blocks=[]) for each in drawn]
