"""No character of strangers reaches the terminal as it is when it could steer it or hide something (reliability S12)."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from thetis_tui.sanitise import console, lines, one_line, visible

VISIBLE_CF = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
JOINERS = {0x200C, 0x200D}
_PIECES = [
    *"ab \n\t\r\x1b\x07\x00\x9b\x9d\x7f\u202e\u2066\u200b\ufeff\ud800\u2028[]m0;?8hl",
    "\U000e0041", "\x1b]8;;", "\x1b[2J", "\r\n",
]
NASTY = st.lists(st.sampled_from(_PIECES)).map("".join)


def steers(character: str) -> bool:
    """Whether a terminal or a reader could be misled by it."""
    code, category = ord(character), unicodedata.category(character)
    if character in "\n\t" or code in VISIBLE_CF | JOINERS:
        return False
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_every_steering_character_of_unicode_is_replaced() -> None:
    for code in range(0x110000):
        character = chr(code)
        if steers(character):
            assert character not in visible(character), hex(code)


def test_letters_signs_and_emoji_stay_as_they_are() -> None:
    text = "añb\tדגל日本語 👩‍👩‍👧 🇫🇷 é ½ ∀x [red]{}$\n"
    assert visible(text) is text


def test_an_escape_is_seen_not_swallowed() -> None:
    assert visible("a\x1b[2Jb") == "a\u241b[2Jb"
    assert visible("rm x\u202e.txt") == "rm x⟨U+202E⟩.txt"
    assert visible("\x9b31m") == "⟨U+009B⟩31m"


@given(NASTY)
def test_nothing_that_steers_is_left(text: str) -> None:
    for made in (visible(text), console(text), one_line(text), "".join(lines(text))):
        assert not [c for c in made if steers(c)]


@given(NASTY)
def test_doing_it_twice_changes_nothing(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text())
def test_a_line_is_one_line(text: str) -> None:
    made = one_line(text)
    assert len(made.splitlines()) <= 1
    assert "\t" not in made


@given(NASTY)
def test_lines_have_no_tab_or_newline_left(text: str) -> None:
    assert not any(mark in line for line in lines(text) for mark in "\n\t\r")


def test_console_drops_colours_and_shows_what_a_progress_bar_ended_as() -> None:
    assert console("\x1b[32mok\x1b[0m\n 10%\r 50%\r100%\r\ndone") == "ok\n100%\ndone"
    assert console("\x1b]0;title\x07") == "\u241b]0;title\u2407"


def test_windows_line_ends_are_newlines() -> None:
    assert visible("a\r\nb") == "a\nb"
    assert lines("a\r\nb\tc") == ["a", "b   c"]
