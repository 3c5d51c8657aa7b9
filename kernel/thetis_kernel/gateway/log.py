"""The log as the gateway keeps it: an append is durable, then folded, then told to whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from thetis_kernel import crash
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.protocol.client import EventStored
from thetis_kernel.protocol.events import Body, Event, Unknown, decode_body, encode_body, kind_of
from thetis_kernel.scrub.scrubber import Scrubber
from thetis_kernel.store.foldcache import EVERY, encoded
from thetis_kernel.store.folds import SessionState, apply
from thetis_kernel.store.scrub import safe
from thetis_kernel.store.store import Store

LARGE = 16 * 1024
"""Bytes of a body from which on searching it takes longer than starting a thread for it (0.3 us a byte)."""


def as_json(body: Body) -> tuple[Body, bytes]:
    """The body and its JSON; one that has none is made safe first. Raises StoreError for what the store would refuse."""
    try:
        return body, encode_body(body)
    except (UnicodeEncodeError, RecursionError, TypeError, ValueError):
        return safe(body)  # type: ignore[return-value]  # a Body stays one


def scrubbed(body: Body, scrubber: Scrubber) -> Body:
    """The body without secrets; the same object when it holds none."""
    body, raw = as_json(body)
    clean = scrubber.json(raw)
    if clean is raw:
        return body
    found = decode_body(kind_of(body), clean)
    return body if isinstance(found, Unknown) else found


class Log:
    """Appends and folded states of all sessions of the root."""

    def __init__(self, store: Store, broadcast: Broadcast, scrubber: Scrubber | None = None) -> None:
        self.store = store
        self.scrubber = scrubber or Scrubber()
        self._broadcast = broadcast
        self._states: dict[str, SessionState] = {}
        self._kept: dict[str, int] = {}
        """The event whose fold was kept last, by conversation."""

    async def append(self, session: str, body: Body, *, event_id: str = "") -> Event:
        """Append one event; returns once it is synced. Raises StoreError and its kinds."""
        return (await self.append_many(session, [body], event_ids=[event_id]))[0]

    async def append_many(self, session: str, bodies: Sequence[Body], *, event_ids: Sequence[str] = ()) -> list[Event]:
        """Append several events as one atomic group."""
        ids = list(event_ids) or [""] * len(bodies)
        bodies = [await self._without_secrets(body) for body in bodies]
        state = await self.state(session)
        known = state.seq
        events = await asyncio.wrap_future(self.store.append_many(session, list(zip(bodies, ids, strict=True))))
        crash.point("ack.before")
        for event in events:
            if event.seq > known:
                self._fold(session, event)
        crash.point("ack.after")
        return events

    async def _without_secrets(self, body: Body) -> Body:
        """`scrubbed`; a large body is searched beside the loop, which has others to serve."""
        if len(as_json(body)[1]) <= LARGE:
            return scrubbed(body, self.scrubber)
        return await asyncio.to_thread(scrubbed, body, self.scrubber)

    def _fold(self, session: str, event: Event) -> None:
        state = self._states.get(session)
        if state is None or event.seq <= state.seq:
            return
        if event.seq != state.seq + 1:
            # Another append was acknowledged first; read what lies between, in order.
            for missed in self.store.read(session, after=state.seq):
                if missed.seq <= event.seq:
                    self._take(session, missed)
            return
        self._take(session, event)

    def _take(self, session: str, event: Event) -> None:
        state = apply(self._states[session], event)
        if event.kind == "turn-finished" and event.seq - self._kept.setdefault(session, 0) >= EVERY:
            self._kept[session] = event.seq
            raw = encoded(state, event.hash)  # now: it changes with the next event
            asyncio.get_running_loop().run_in_executor(None, self.store.keep_fold, session, raw)
        self._broadcast.publish(EventStored(event=event), session)

    async def state(self, session: str) -> SessionState:
        """The session's fold. Raises SessionDamaged."""
        if session not in self._states:
            loaded = await asyncio.to_thread(self.store.state, session)
            # The first one loaded stays: a later one may hold events that are not told of yet, and would swallow them.
            if self._states.setdefault(session, loaded) is loaded:
                self._kept[session] = loaded.seq
        return self._states[session]

    def known(self, session: str) -> SessionState | None:
        """The fold, if it is at hand; nothing is read."""
        return self._states.get(session)

    def forget(self, session: str) -> None:
        """The session is gone, or its fold shall be read anew."""
        self._states.pop(session, None)
        self._kept.pop(session, None)
