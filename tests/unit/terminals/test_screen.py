"""The screen of a terminal: bounded, in pieces as in one, and no sequence of a hostile program takes it away."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.toolhost.terminals.screen import KEPT, Screen


def shown(data: bytes) -> list[str]:
    screen = Screen(40, 10)
    screen.feed(data)
    return screen.lines()[0]


def test_text_is_placed() -> None:
    screen = Screen(40, 10)
    screen.feed(b"one\r\ntwo\x1b[5;3Hfive\x1b[1;1HO")
    lines, row, column = screen.lines()
    assert lines == ["One", "two", "", "", "  five"] and (row, column) == (0, 1)


def test_what_the_emulator_takes_for_something_else_is_left_out() -> None:
    assert shown(b"\x1b[>4;2m\x1b[?4m\x1bPzz\x1b\\\x1b[0%m\x1b]10;?\x07\x1b[38:2:1:2:3mtext") == ["text"]


def test_a_program_that_asks_is_answered() -> None:
    screen = Screen(40, 10)
    assert screen.feed(b"ab\x1b[6n") == b"\x1b[1;3R"
    assert screen.feed(b"more") == b""
    assert screen.feed(b"\x1b[5n") == b"\x1b[0n"


def test_memory_is_bounded_and_the_newest_remains() -> None:
    screen = Screen(40, 10)
    for _ in range(64):
        screen.feed(b"y\r\n" * 8000)
    assert len(screen._pending) <= KEPT
    screen.feed(b"\x1b[2J\x1b[Hthe end")
    assert screen.lines()[0][0] == "the end"


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from(
                [
                    b"\x1b[",
                    b"\x1b]",
                    b"\x1bP",
                    b"\x1b[999999999999C",
                    b"\x1b[?1049h",
                    b"\x1b[1;1r",
                    b"\x1b#",
                    b"\x1b%",
                    b"\x1b(",
                    b"\x9b5A",
                ]
            ),
        ),
        max_size=30,
    )
)
def test_any_bytes_leave_a_screen(pieces: list[bytes]) -> None:
    screen = Screen(40, 10)
    for piece in pieces:
        screen.feed(piece)
    lines, row, column = screen.lines()
    assert len(lines) <= 10 and 0 <= row < 10 and 0 <= column <= 40
    screen.clear()
    screen.feed(b"still here")
    assert screen.lines()[0] == ["still here"]
