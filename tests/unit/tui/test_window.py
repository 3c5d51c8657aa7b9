"""The window on the log: one stretch, bounded, nothing twice, nothing missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thetis_tui.window import Span, Window


def shows(seq: int) -> bool:
    """Every third event shows nothing, as in real logs."""
    return seq % 3 != 0


def load(window: Window, span: Span) -> None:
    window.loaded(span, [seq for seq in range(span.after + 1, span.upto + 1) if shows(seq)])


def test_opens_at_the_end() -> None:
    window = Window(page=10)
    assert window.open(95) == Span(85, 95)
    load(window, Span(85, 95))
    assert window.at_end
    assert list(window.mounted) == [86, 88, 89, 91, 92, 94, 95]
    assert window.older() == Span(75, 85)


def test_opens_around_an_event() -> None:
    window = Window(page=10)
    span = window.open(1000, at=500)
    assert span.after < 500 <= span.upto
    load(window, span)
    assert not window.at_end
    assert window.newer(following=True) == Span(span.upto, span.upto + 10)


def test_a_short_log_has_nothing_older() -> None:
    window = Window()
    load(window, window.open(3))
    assert window.older() is None
    assert window.newer(following=True) is None


def test_a_follower_gets_what_is_new_and_loses_the_top() -> None:
    window = Window(page=10, high=20, low=12)
    load(window, window.open(10))
    for last in range(11, 200):
        window.grew(last)
        while (span := window.newer(following=True)) is not None:
            load(window, span)
        window.cut_top()
        assert len(window.mounted) <= 20
    assert window.at_end
    assert window.mounted[-1] == 199


def test_a_reader_elsewhere_is_not_fed_without_end() -> None:
    window = Window(page=10, high=20, low=12)
    load(window, window.open(10))
    window.grew(500)
    while (span := window.newer(following=False)) is not None:
        load(window, span)
    assert len(window.mounted) <= 20 + 10
    assert window.below > 400
    assert window.newer(following=True) is not None


def test_what_continues_the_end_is_mounted_for_a_reader_a_little_above_it() -> None:
    window = Window(page=10, high=20, low=12)
    load(window, window.open(10))
    window.grew(13)
    assert window.newer(following=False) == Span(10, 13)


def test_reading_up_cuts_the_far_end_and_it_can_be_read_again() -> None:
    window = Window(page=10, high=20, low=12)
    load(window, window.open(200))
    for _ in range(10):
        span = window.older()
        assert span is not None
        load(window, span)
        gone = window.cut_bottom()
        assert gone == sorted(gone)
    assert not window.at_end
    again = window.newer(following=True)
    assert again is not None
    assert again.after == window.mounted[-1]


def test_a_span_that_does_not_touch_is_a_mistake() -> None:
    window = Window()
    load(window, window.open(100))
    with pytest.raises(ValueError, match="touch"):
        window.loaded(Span(3, 9), [4])


STEPS = ["grow", "up", "down", "follow", "cut_top", "cut_bottom"]


@given(st.lists(st.sampled_from(STEPS), max_size=60), st.integers(0, 300))
def test_whatever_happens_the_mounted_events_are_those_of_one_stretch(steps: list[str], last: int) -> None:
    window = Window(page=7, high=20, low=12)
    load(window, window.open(last))
    for step in steps:
        if step == "grow":
            window.grew(window.last + 5)
        elif step in ("up", "down", "follow"):
            more = window.older() if step == "up" else window.newer(following=step == "follow")
            if more is not None:
                load(window, more)
        elif step == "cut_top":
            window.cut_top()
        elif step == "cut_bottom":
            window.cut_bottom()
        expected = [seq for seq in range(window.after + 1, window.upto + 1) if shows(seq)]
        assert list(window.mounted) == expected
