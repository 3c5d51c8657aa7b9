"""Events to blocks: by the gateway guest in the face host, or plainly when there is none or it fails."""

from __future__ import annotations

from collections import OrderedDict

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.body.watchdog import Watchdog
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.guests import RENDERER, Guests
from thetis_kernel.gateway.plain import render_plain
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.events import Event
from thetis_kernel.protocol.face import FaceEvent, RenderEvents
from thetis_kernel.protocol.worker import GuestBundle

BATCH = 100
CACHED = 2000
"""Rendered events kept, by event and artifact."""
SECONDS = 5.0


class Renderer:
    """Renders for all clients; a broken guest costs looks, never content."""

    def __init__(self, fleet: Fleet, guests: Guests, watchdog: Watchdog) -> None:
        self._fleet = fleet
        self._guests = guests
        self._watchdog = watchdog
        self._cache: OrderedDict[tuple[str, str, int], RenderedEvent] = OrderedDict()
        self._sent: tuple[int, str] = (0, "")
        self.failures = 0

    async def render(self, session: str, events: list[Event]) -> list[RenderedEvent]:
        """The blocks of each event of a conversation's line, in order: its own renderer draws them, if it has one.

        One that fails is put back by the watchdog, and what served before draws them.
        """
        if not events:
            return []
        while True:
            try:
                guest = await self._guests.renderer(session)
            except ThetisError:
                self.failures += 1
                return render_plain(events)
            try:
                drawn = await self._drawn(guest, events)
                await self._watchdog.well(session, RENDERER)
                return drawn
            except ThetisError as error:
                self.failures += 1
                if not await self._watchdog.failed(session, RENDERER, str(error.data.get("kind", "")), error.message):
                    return render_plain(events)

    async def draw_anew(self, session: str, events: list[Event]) -> None:
        """Have the conversation's renderer draw events, whatever is kept of them. Raises what the face host answers."""
        guest = await self._guests.renderer(session)
        face = await self._fleet.face()
        asked = [FaceEvent(seq=e.seq, kind=e.kind, ts_ms=e.ts_ms, body=e.raw) for e in events]
        await face.peer.call(RenderEvents(key=guest.key, events=asked, bundle=guest.bundle), timeout=2 * SECONDS)

    async def _drawn(self, guest: GuestBundle, events: list[Event]) -> list[RenderedEvent]:
        """The blocks, from the cache or the guest. Raises what the face host answered when it drew nothing."""
        missing = [event for event in events if (guest.key, event.session, event.seq) not in self._cache]
        for start in range(0, len(missing), BATCH):
            batch = missing[start: start + BATCH]
            for event, rendered in zip(batch, await self._batch(guest, batch), strict=True):
                self._cache[guest.key, event.session, event.seq] = rendered
        answer = [self._cache[guest.key, event.session, event.seq] for event in events]
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        return answer

    async def _batch(self, guest: GuestBundle, events: list[Event]) -> list[RenderedEvent]:
        asked = [FaceEvent(seq=e.seq, kind=e.kind, ts_ms=e.ts_ms, body=e.raw) for e in events]
        face = await self._fleet.face()
        known = self._sent == (face.pid, guest.key)
        ask = RenderEvents(key=guest.key, events=asked, bundle="" if known else guest.bundle)
        rendered = await face.peer.call(ask, timeout=SECONDS)
        self._sent = (face.pid, guest.key)
        by_seq = {r.seq: r for r in rendered}
        plain = {r.seq: r for r in render_plain([e for e in events if e.seq not in by_seq])}
        return [by_seq.get(e.seq) or plain[e.seq] for e in events]
