"""The stream of a terminal as text: nothing that steers a terminal gets through, and no cut between pieces changes it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.toolhost.terminals.plain import MAX_LINE, PlainText

SEQUENCES = [
    "\x1b[31m",
    "\x1b[0m",
    "\x1b[2K",
    "\x1b[10;20H",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1bPq#0\x1b\\",
    "\x1b(B",
    "\x1b[?1049h",
    "\x1b[>4;2m",
    "\x1b7",
    "\r",
    "\b",
    "\x07",
    "\n",
    "\r\n",
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x9b31m",
    "é",
    "漢",
]
STREAMS = st.lists(st.one_of(st.sampled_from(SEQUENCES), st.text(max_size=6)), max_size=30).map("".join)


def whole(data: bytes) -> str:
    text = PlainText()
    return text.feed(data) + text.end()


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        ("plain\n", "plain\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\x1b[1;31mred\x1b[0m text\n", "red text\n"),
        ("10%\r 50%\r100%\n", "100%\n"),
        ("spin|\b/\b-\n", "spin-\n"),
        ("\x1b]0;a title\x07shown\n", "shown\n"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("\x1bPq#0;2;0\x1b\\after\n", "after\n"),
        ("no end", "no end"),
        ("bell\x07 nul\x00 del\x7f c1\x85\n", "bell nul del c1\n"),
        ("tab\there\n", "tab\there\n"),
        ("\x1b]never ends\nbut lines do\n", "\nbut lines do\n"),
        ("\x1b]cut by\x1b[1m the next\n", " the next\n"),
    ],
)
def test_what_a_person_would_have_read(stream: str, text: str) -> None:
    assert whole(stream.encode()) == text


@given(STREAMS, st.lists(st.integers(1, 7), max_size=40))
def test_pieces_change_nothing(stream: str, sizes: list[int]) -> None:
    data = stream.encode("utf-8", "surrogatepass")
    text, at, out = PlainText(), 0, []
    for size in [*sizes, len(data)]:
        out.append(text.feed(data[at : at + size]))
        at += size
    assert "".join(out) + text.end() == whole(data)


@given(st.binary(max_size=400))
def test_nothing_that_steers_gets_through(data: bytes) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", whole(data))


def test_a_line_without_end_is_handed_out_in_parts() -> None:
    text = PlainText()
    out = "".join(text.feed(b"x" * 5000) for _ in range(100))
    assert len(text.pending) <= MAX_LINE + 5000
    assert len(out + text.end()) == 500_000


@pytest.mark.parametrize(
    ("stream", "moves"),
    [
        ("\x1b[31mred\x1b[K\r\n", False),
        ("\x1b[?2004h>>> ", False),
        ("\x1b[10;1Hx", True),
        ("\x1b[?1049h", True),
        ("\x1b[2J", True),
        ("\x1b[3A", True),
        ("\x1b[?25l", False),
    ],
)
def test_who_places_text_on_the_screen_is_known(stream: str, moves: bool) -> None:
    text = PlainText()
    text.feed(stream.encode())
    assert text.moves is moves


def test_a_prompt_is_pending() -> None:
    text = PlainText()
    assert text.feed(b"Password: ") == "" and text.pending == "Password: "
    assert text.feed(b"\r\nok\r\n") == "Password: \nok\n"
