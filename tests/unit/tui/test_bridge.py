"""Pacing: deltas are joined, events are not delayed and not overtaken."""

from __future__ import annotations

import asyncio

import pytest
from thetis_kernel.errors import PeerGone, ThetisError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.wire import Tell

from tests.support.fake_gateway import FakeGateway
from thetis_tui.bridge import MAX_DELTA, Bridge


def delta(text: str, kind: str = "text", session: str = "a", call: str = "") -> c.Delta:
    return c.Delta(session=session, kind=kind, text=text, call=call, stream="s")


class Ear:
    def __init__(self, spacing: float = 0.05) -> None:
        self.gateway = FakeGateway()
        self.heard: list[Tell] = []
        self.gone: list[ThetisError] = []
        self.bridge = Bridge(self.gateway.client, self.heard.append, self.gone.append, spacing=spacing)

    def texts(self) -> list[str]:
        return [tell.text for tell in self.heard if isinstance(tell, c.Delta)]


async def test_a_burst_of_deltas_is_one() -> None:
    ear = Ear(spacing=60)
    await ear.bridge.open()
    for letter in "hello":
        ear.gateway.tell(delta(letter))
    await asyncio.sleep(0.001)
    assert ear.texts() == ["hello"]
    for letter in "again":
        ear.gateway.tell(delta(letter))
    await asyncio.sleep(0.001)
    assert ear.texts() == ["hello"], "the second batch waits for its time"
    ear.bridge.close()


async def test_an_event_comes_at_once_and_after_the_deltas_before_it() -> None:
    ear = Ear(spacing=60)
    await ear.bridge.open()
    session = ear.gateway.make()
    ear.gateway.tell(delta("a"))
    await asyncio.sleep(0.001)
    ear.gateway.tell(delta("b"))
    ear.gateway.store(session, e.User("x"))
    ear.gateway.tell(delta("c"))
    assert [type(tell).__name__ for tell in ear.heard] == ["Delta", "Delta", "EventStored"]
    ear.bridge.close()


async def test_different_things_are_not_joined() -> None:
    ear = Ear()
    await ear.bridge.open()
    for one in (delta("a"), delta("b", "thinking"), delta("c"), delta("d", session="z"), delta("e", "output", call="1")):
        ear.gateway.tell(one)
    await asyncio.sleep(0.001)
    assert ear.texts() == ["a", "b", "c", "d", "e"]
    ear.bridge.close()


async def test_a_flood_is_bounded() -> None:
    ear = Ear(spacing=60)
    await ear.bridge.open()
    ear.gateway.tell(delta("first"))
    await asyncio.sleep(0.001)
    for _ in range(20):
        ear.gateway.tell(delta("x" * 100_000, "output", call="1"))
    ear.gateway.tell(c.Notice(level="info", message="end"))
    assert max(len(text) for text in ear.texts()) <= MAX_DELTA
    ear.bridge.close()


async def test_a_gateway_that_is_gone_is_reported_once_and_raised_every_time() -> None:
    ear = Ear()
    await ear.bridge.open()
    ear.gateway.gone = True
    for _ in range(2):
        with pytest.raises(PeerGone):
            await ear.bridge.ask(ear.gateway.client.status())
    assert len(ear.gone) == 1


async def test_after_closing_nothing_is_heard() -> None:
    ear = Ear()
    await ear.bridge.open()
    ear.gateway.tell(delta("a"))
    ear.bridge.close()
    ear.gateway.tell(delta("b"))
    await asyncio.sleep(0.001)
    assert ear.heard == []


async def test_a_channel_that_ends_is_reported_although_nobody_asks() -> None:
    ear = Ear()
    await ear.bridge.open()
    ear.gateway.vanish()
    await asyncio.sleep(0)
    assert len(ear.gone) == 1
    ear.bridge.close()
