"""A worker's channel is nobody's until a conversation takes it, and then that one's for good."""

from __future__ import annotations

import asyncio

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.spare import Seat, Spare
from thetis_kernel.ipc.aio import AskHandlers, TellHandlers

from tests.support.words import Echo, Note


def handlers(whose: str, heard: list[str]) -> tuple[AskHandlers, TellHandlers]:
    async def echo(ask: Echo) -> bytes:
        return whose.encode()

    return {Echo: echo}, {Note: lambda tell: heard.append(whose)}


async def test_before_it_is_taken_everything_is_refused() -> None:
    heard: list[str] = []
    seat = Seat(*handlers("", heard))
    with pytest.raises(ThetisError, match="no conversation's yet"):
        await seat.asks[Echo](Echo(b"x"))
    seat.tells[Note](Note(1))
    assert heard == []


async def test_then_it_answers_as_that_conversation_alone() -> None:
    heard: list[str] = []
    seat = Seat(*handlers("", heard))
    seat.take(*handlers("a", heard))
    assert await seat.asks[Echo](Echo(b"x")) == b"a"
    seat.tells[Note](Note(1))
    assert heard == ["a"]
    with pytest.raises(RuntimeError):
        seat.take(*handlers("b", heard))


async def test_one_waits_and_the_next_is_prepared_after_it_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thetis_kernel.gateway.spare.AFTER_S", 0.0)
    started: list[Seat] = []

    async def start(seat: Seat) -> None:
        started.append(seat)

    spare = Spare(start, lambda: handlers("", []))
    assert spare.seat() is None, "none is waited for"
    spare.prepare()
    spare.prepare()
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(started) == 1
    assert spare.seat() is started[0] and spare.seat() is None
    for _ in range(5):
        await asyncio.sleep(0)
    assert spare.seat() is started[1]
    spare.close()


async def test_one_that_does_not_start_is_no_ones_failure() -> None:
    async def start(_: Seat) -> None:
        raise ThetisError("It died.", code="child-start")

    spare = Spare(start, lambda: handlers("", []))
    spare.prepare()
    for _ in range(5):
        await asyncio.sleep(0)
    assert spare.seat() is None
    spare.close()
