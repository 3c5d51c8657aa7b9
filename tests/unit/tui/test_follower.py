"""Events reach the screen in order and without gaps, whatever is told and whatever is not."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.errors import RemoteError, ThetisError
from thetis_kernel.protocol.client import EventPage
from thetis_kernel.protocol.events import Event

from thetis_tui.follower import Follower


def event(seq: int) -> Event:
    return Event("a", seq, f"{seq}", 0, "user", 1, b"{}")


class Log:
    def __init__(self, length: int, page: int = 1000) -> None:
        self.length = length
        self.page = page
        self.reads = 0
        self.error: ThetisError | None = None
        self.out: list[int] = []
        self.errors: list[ThetisError] = []
        self.follower = Follower(self.read, lambda events: self.out.extend(e.seq for e in events), self.errors.append)

    async def read(self, after: int, limit: int) -> EventPage:
        self.reads += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        upto = min(self.length, after + min(limit, self.page))
        return EventPage(events=[event(seq) for seq in range(after + 1, upto + 1)], last_seq=self.length)

    async def settle(self) -> None:
        for _ in range(200):
            await asyncio.sleep(0)


async def test_what_fits_is_passed_on_at_once_without_reading() -> None:
    log = Log(0)
    log.follower.start(0)
    for seq in (1, 2, 3):
        log.length = seq
        log.follower.offer(event(seq))
    assert log.out == [1, 2, 3]
    assert log.reads == 0


async def test_a_gap_is_read_from_the_log() -> None:
    log = Log(7, page=2)
    log.follower.start(2)
    log.follower.offer(event(7))
    await log.settle()
    assert log.out == [3, 4, 5, 6, 7]


async def test_what_was_told_before_the_start_is_caught_up_with() -> None:
    log = Log(5)
    log.follower.offer(event(5))
    assert log.out == []
    log.follower.start(3)
    await log.settle()
    assert log.out == [4, 5]


async def test_a_log_that_cannot_be_read_is_said_and_tried_again_with_the_next_event() -> None:
    log = Log(5)
    log.error = RemoteError("The log is locked.")
    log.follower.start(0)
    log.follower.offer(event(5))
    await log.settle()
    assert log.out == []
    assert len(log.errors) == 1
    log.error = None
    log.length = 6
    log.follower.offer(event(6))
    await log.settle()
    assert log.out == [1, 2, 3, 4, 5, 6]


async def test_stopped_means_nothing_more() -> None:
    log = Log(5)
    log.follower.start(0)
    log.follower.offer(event(5))
    log.follower.stop()
    await log.settle()
    log.follower.offer(event(6))
    assert log.out == []


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(1, 12)), st.integers(0, 11), st.integers(1, 4))
def test_any_order_of_tells_with_any_of_them_missing_ends_in_order(order: list[int], missing: int, page: int) -> None:
    async def play() -> list[int]:
        log = Log(11, page)
        log.follower.start(0)
        for seq in order[missing:]:
            log.follower.offer(event(seq))
            await asyncio.sleep(0)
        log.follower.catch_up(11)
        await log.settle()
        return log.out

    assert asyncio.run(play()) == list(range(1, 12))
