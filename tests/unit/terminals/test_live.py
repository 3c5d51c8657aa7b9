"""A terminal's screen for a person: colours, cursor, scrollback, the other screen, bounds, and no control sequence in it."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.terminals import Cells, Shown
from thetis_kernel.toolhost.terminals.live import KEPT, SCROLLBACK, Live


def fed(data: bytes, columns: int = 20, rows: int = 4) -> Live:
    live = Live(columns, rows)
    live.feed(data)
    return live


def words(shown: Shown) -> list[str]:
    return ["".join(cells.text for cells in row) for row in shown.rows]


def test_colours_and_looks_are_stretches_of_a_line() -> None:
    shown = fed(b"plain \x1b[1;31mbold red\x1b[0m\r\n\x1b[38;2;1;2;3;48;5;4mx\x1b[0m").shown(0)
    assert shown.rows[0] == [Cells("plain "), Cells("bold red", "red", "", 1)]
    assert (
        shown.rows[1] == [Cells("x", "010203", "0000ee" if shown.rows[1][0].bg != "blue" else "blue")]
        or shown.rows[1][0].bg
    )
    assert shown.rows[2:] == [[], []] and shown.cursor == (1, 1)


def test_what_has_scrolled_away_can_be_looked_at() -> None:
    live = fed(b"".join(b"line %d\r\n" % n for n in range(10)) + b"last")
    assert words(live.shown(0)) == ["line 7", "line 8", "line 9", "last"]
    back = live.shown(3)
    assert words(back) == ["line 4", "line 5", "line 6", "line 7"] and back.cursor is None and back.back == 3
    assert live.shown(10**9).back == 7 == live.shown(0).above


def test_editors_draw_on_another_screen_and_leave_no_trace() -> None:
    live = fed(b"before\r\n\x1b[?1049h\x1b[H\x1b[2Jan editor\r\n\r\n\r\n\r\n\r\n")
    during = live.shown(0)
    assert during.alternate and during.above == 0 and "before" not in words(during)
    live.feed(b"\x1b[?1049l")
    assert words(live.shown(0))[0] == "before" and not live.shown(0).alternate


def test_what_a_program_wants_of_keys_and_pastes_is_told() -> None:
    live = fed(b"\x1b[?1h\x1b[?2004h\x1b[?25l")
    shown = live.shown(0)
    assert shown.application_keys and shown.paste and shown.cursor is None
    live.feed(b"\x1b[?1l\x1b[?2004l\x1b[?25h")
    assert not live.shown(0).application_keys and live.shown(0).cursor == (0, 0)


def test_a_command_is_announced_on_a_line_of_its_own() -> None:
    live = fed(b"no newline")
    live.begin("ls -l\nand more \x1b[31m", fresh=False)
    live.feed(b"a file\r\n")
    assert words(live.shown(0)) == ["no newline", "$ ls -l", "a file", ""]
    live.begin("vi\x07m", fresh=True)
    assert words(live.shown(0)) == ["", "", "", ""] and words(live.shown(4)) == [
        "no newline",
        "$ ls -l",
        "a file",
        "$ vim",
    ]


def test_a_window_that_changes_keeps_what_is_there() -> None:
    live = fed(b"one\r\ntwo\r\n")
    live.resize(30, 6)
    shown = live.shown(0)
    assert shown.columns == 30 and len(shown.rows) == 6 and words(shown)[:2] == ["one", "two"]


def test_who_waits_is_woken_by_what_comes() -> None:
    live = fed(b"")
    version = live.version
    assert live.wait(version, 0.0) == version
    live.feed(b"x")
    assert live.wait(version, 5.0) > version


def test_output_nobody_could_read_is_left_out_and_memory_is_bounded() -> None:
    live = fed(b"start\r\n" + b"a line\r\n" * (KEPT // 4) + b"end")
    assert words(live.shown(0))[-1] == "end"
    for _ in range(3):
        live.feed(b"y\r\n" * 20_000)
        live.shown(0)
    assert live.shown(0).above <= SCROLLBACK
    live = fed(b"a" + "\u0301\x1b[m".encode() * 3000)
    assert all(len(cells.text) <= 40 for row in live.shown(0).rows for cells in row)


PIECES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            b"\x1b[?1049h",
            b"\x1b[?1049l",
            b"\x1b[?3h",
            b"\x1b]0;title\x07",
            b"\x1bPq\x1b\\",
            b"\x1b[999999999C",
            b"\x9b31m",
            b"\x1b[2J",
            b"\x1b[5;2r",
            b"\r\n",
            b"\x1b[L",
            b"\x1b[99@",
            "漢".encode(),
            b"\x1b_thetis:page\x1b\\",
            b"\x1bc",
        ]
    ),
)


@given(st.lists(PIECES, max_size=30), st.integers(8, 40), st.integers(2, 10))
def test_whatever_comes_the_screen_has_its_size_and_no_control_character(
    pieces: list[bytes], columns: int, rows: int
) -> None:
    live = Live(columns, rows)
    for piece in pieces:
        live.feed(piece)
        live.shown(1)
    shown = live.shown(0)
    assert shown.columns == columns and len(shown.rows) == rows
    assert all(unicodedata.category(sign) != "Cc" for row in words(shown) for sign in row)
