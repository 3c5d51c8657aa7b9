"""The restart rule, against a slow restatement of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.clock import FakeClock
from thetis_kernel.supervise.policy import MAX_RESTARTS, WINDOW, Restarts


def test_three_restarts_within_a_minute_then_parked() -> None:
    clock, restarts = FakeClock(), Restarts()
    allowed = []
    for _ in range(5):
        allowed.append(restarts.crashed(clock.monotonic()))
        clock.advance(1)
    assert allowed == [True, True, True, False, False]
    assert restarts.parked


def test_slow_crashes_never_park() -> None:
    clock, restarts = FakeClock(), Restarts()
    for _ in range(50):
        assert restarts.crashed(clock.monotonic())
        clock.advance(WINDOW / MAX_RESTARTS)


def test_parked_stays_parked_until_forgiven() -> None:
    clock, restarts = FakeClock(), Restarts(maximum=0)
    assert not restarts.crashed(clock.monotonic())
    clock.advance(10_000)
    assert restarts.parked and not restarts.clean(clock.monotonic())
    assert not restarts.crashed(clock.monotonic())
    restarts.forgive()
    assert not restarts.parked and restarts.clean(clock.monotonic())


@given(st.lists(st.floats(0, 40), max_size=60), st.integers(0, 5), st.floats(1, 100))
def test_never_more_than_the_maximum_in_any_window(gaps: list[float], maximum: int, window: float) -> None:
    restarts, now, granted, parked = Restarts(maximum=maximum, window=window), 0.0, [], False
    for gap in gaps:
        now += gap
        recent = [time for time in granted if now - time < window]
        expected = not parked and len(recent) < maximum
        assert restarts.crashed(now) is expected
        if expected:
            granted.append(now)
        parked = parked or not expected
        assert restarts.parked is parked
        assert restarts.clean(now) is (not parked and not [t for t in granted if now - t < window])
