"""What the purse counts as time: from a person's words on, a restart in between or not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from thetis_kernel.config.settings import Settings
from thetis_kernel.gateway.children.purse import Purses
from thetis_kernel.protocol.events import (
    Body,
    ChildSettled,
    ChildStarted,
    Event,
    Nudge,
    TurnFinished,
    TurnStarted,
    User,
    encode_body,
    kind_of,
)
from thetis_kernel.store.folds import SessionState, fold
from thetis_kernel.store.recovery import repairs

HOME = "a" * 16
MINUTE = 60_000


class Clock:
    def __init__(self) -> None:
        self.s = 1_000.0

    def __call__(self) -> float:
        return self.s


class Kernel:
    """A process that opens a log: a clock of its own, which begins anywhere, and the purses."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.clock = Clock()
        self.purses = Purses(cast(Any, self), cast(Any, SimpleNamespace(reached=lambda *_: "")), Settings(), self.clock)

    async def state(self, session: str) -> SessionState:
        return fold(self.events)

    async def minutes(self) -> float:
        return (await self.purses.of(HOME, "m")).elapsed_ms / MINUTE

    async def reached(self) -> str:
        return (await self.purses.of(HOME, "m")).reached


def log(*timed: tuple[float, Body]) -> list[Event]:
    """Events at these minutes."""
    return [
        Event(HOME, n, f"e{n}", int(at * MINUTE), kind_of(body), 1, encode_body(body))
        for n, (at, body) in enumerate(timed, 1)
    ]


def and_then(events: list[Event], at: float, *bodies: Body) -> list[Event]:
    return [
        *events,
        *(
            Event(HOME, len(events) + n, f"f{n}", int(at * MINUTE), kind_of(body), 1, encode_body(body))
            for n, body in enumerate(bodies, 1)
        ),
    ]


BEGUN = ((0, User("go")), (0, TurnStarted("t1", "agent", "m")), (1, ChildStarted("c" * 16, "l", "t")))


async def test_time_in_one_process_is_its_clocks() -> None:
    kernel = Kernel(log(*BEGUN))
    assert await kernel.minutes() == 0
    kernel.clock.s += 300
    assert await kernel.minutes() == 5
    kernel.events = and_then(
        kernel.events,
        6,
        TurnFinished("t1", "stop", duration_ms=6 * MINUTE),
        Nudge("x", "system"),
        TurnStarted("t2", "agent", "m"),
    )
    assert await kernel.minutes() == 5, "a turn that a notice began goes on with it"
    kernel.events = and_then(kernel.events, 7, User("more"), TurnStarted("t3", "agent", "m"))
    assert await kernel.minutes() == 0, "a person's words begin anew"


async def test_a_process_that_comes_after_begins_with_what_was_used() -> None:
    kernel = Kernel(
        log(
            *BEGUN,
            (6, TurnFinished("t1", "restarted", duration_ms=6 * MINUTE)),
            (600, TurnStarted("t1", "agent", "m", attempt=1)),
        )
    )
    assert await kernel.minutes() == 6, "and not with the ten hours in which nothing ran"
    kernel.clock.s += 60
    assert await kernel.minutes() == 7


async def test_what_a_killed_turn_had_used_is_read_from_its_events() -> None:
    cut = log(*BEGUN, (40, Nudge("look", "user")))
    closed = and_then(cut, 900, *repairs(cut))
    assert isinstance(closed[-1].body, TurnFinished) and closed[-1].body.duration_ms == 40 * MINUTE
    kernel = Kernel(and_then(closed, 901, TurnStarted("t1", "agent", "m", attempt=1)))
    assert await kernel.minutes() == 40


async def test_the_limit_counts_over_restarts() -> None:
    most = Settings().agent.max_minutes
    cut = log(*BEGUN, (most / 2, Nudge("look", "user")))
    again = and_then(and_then(cut, 500, *repairs(cut)), 501, TurnStarted("t1", "agent", "m", attempt=1))
    again = and_then(again, 501, ChildSettled("c" * 16, "failed", ""))
    kernel = Kernel(again)
    assert await kernel.reached() == ""
    kernel.clock.s += most * 60 / 2
    assert "agent.max_minutes" in await kernel.reached()
    assert await kernel.purses.left_s(HOME) <= 0
