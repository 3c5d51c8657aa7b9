"""A stop is durable: a turn the person stopped is not resumed after a crash (complaints 101)."""

from __future__ import annotations

from thetis_kernel.protocol.events import Body, Event, SystemNote, TurnFinished, TurnStarted, User, encode_body, kind_of
from thetis_kernel.store.folds import fold
from thetis_kernel.store.recovery import repairs


def log(*bodies: Body) -> list[Event]:
    return [Event("s", n, f"e{n}", n, kind_of(b), 1, encode_body(b)) for n, b in enumerate(bodies, 1)]


def test_a_stopped_turn_ends_as_cancelled() -> None:
    cut = [User("x"), TurnStarted("t", "agent", "m"), SystemNote("stopped", about="stop")]
    [*_, end] = repairs(log(*cut))
    assert isinstance(end, TurnFinished) and end.stopped_by == "cancelled"
    assert not fold(log(*cut, end)).interrupted


def test_a_stop_of_an_older_turn_does_not_count() -> None:
    older = [TurnStarted("t1", "agent", "m"), SystemNote("stopped", about="stop"), TurnFinished("t1", "cancelled")]
    [*_, end] = repairs(log(*older, User("y"), TurnStarted("t2", "agent", "m")))
    assert isinstance(end, TurnFinished) and (end.turn, end.stopped_by) == ("t2", "restarted")
