"""The gateway's log: two first looks at a session at once must not swallow what is told."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.client import EventStored
from thetis_kernel.protocol.events import SessionStarted, User
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.protocol.wire import Tell
from thetis_kernel.store.store import Store


class Hearer:
    congested = False

    def __init__(self) -> None:
        self.heard: list[Tell] = []

    def tell(self, tell: Tell) -> None:
        self.heard.append(tell)


async def test_a_late_first_look_swallows_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    try:
        session = new_session_id()
        store.create(session, SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x"))
        broadcast, hearer = Broadcast(), Hearer()
        broadcast.join(hearer)
        broadcast.subscribe(hearer, session)
        log = Log(store, broadcast)
        release, real = threading.Event(), store.state
        calls = 0

        def slow_second(wanted: str) -> object:
            nonlocal calls
            calls += 1
            if calls == 2:
                release.wait(10)
            return real(wanted)

        store.state = slow_second  # type: ignore[method-assign, assignment]
        first, second = asyncio.create_task(log.state(session)), asyncio.create_task(log.state(session))
        await first
        appending = asyncio.wrap_future(store.append_many(session, [(User("one"), "")]))
        [event] = await appending  # durable, not folded yet
        release.set()
        await second
        log._fold(session, event)
        assert [t.event.seq for t in hearer.heard if isinstance(t, EventStored)] == [2]
    finally:
        store.close()
