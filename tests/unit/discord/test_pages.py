"""Texts in messages: none too long, nothing left out, code blocks whole on each page, earlier pages never change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.connectors.discord.pages import BLANK, LIMIT, pages, units

PIECES = st.one_of(
    st.text(st.sampled_from("ab \n`~😀e\u0301x"), max_size=400),
    st.sampled_from(["```python\n", "\n```\n", "~~~\n", "\n````\n", "x" * 2500, "\n\n", " " * 1500, "é😀" * 900,
                     "- a line\n" * 300]),
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def told(text: str) -> str:
    """What a reader reads: no white space, no marks of code blocks (pages repeat those), nothing invisible."""
    return "".join(sign for sign in text if not sign.isspace() and sign not in f"`~{BLANK}")


def whole(text: str, found: list[str]) -> bool:
    """Whether the pages say all of it in order, and besides that no more than a code block's language once a page."""
    said = told("".join(found))
    signs = iter(said)
    return all(sign in signs for sign in told(text)) and len(said) - len(told(text)) <= 20 * len(found)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_every_page_fits_and_together_they_say_the_whole_in_order(text: str) -> None:
    found = pages(text)
    assert all(0 < units(page) <= LIMIT and page.strip() for page in found)
    assert whole(text, found)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.integers(0, 100))
def test_a_page_that_is_full_stays_as_it_is_while_the_text_grows(text: str, percent: int) -> None:
    before, after = pages(text[: len(text) * percent // 100]), pages(text)
    assert before[:-1] == after[: max(0, len(before) - 1)]


def test_a_code_block_is_closed_on_its_page_and_opened_with_its_language_on_the_next() -> None:
    code = "\n".join(f"line_{number} = {number}" for number in range(500))
    found = pages(f"Look:\n\n```python\n{code}\n```\nThat is all.")
    assert len(found) > 3 and all(page.count("```") % 2 == 0 for page in found)
    assert all(page.startswith("```python\n") and page.rstrip().endswith("```") for page in found[1:-1])
    lines = [line for page in found for line in page.splitlines() if line.startswith("line_")]
    assert lines == code.splitlines()


def test_complaint_144_nothing_over_2000_characters_is_dropped_or_crashes() -> None:
    for text in ("word " * 4000, "x" * 20_000, "😀" * 20_000, "a\n" * 9_999, "```\n" + "y" * 20_000, "`" * 5_000):
        found = pages(text)
        assert all(units(page) <= 2000 for page in found) and whole(text, found)


def test_words_are_not_cut_where_a_space_is_near_nor_inside_a_visible_character() -> None:
    assert all(page.endswith(("word", "word ")) for page in pages("word " * 1000))
    assert all(not page.startswith("\u0301") for page in pages("e\u0301" * 3000))


def test_white_space_at_a_page_s_beginning_is_kept_from_discord() -> None:
    first, second = pages("x" * 1990 + "\n" + "    indented")
    assert first == "x" * 1990 and second == f"{BLANK}    indented"


def test_nothing_to_see_is_no_page() -> None:
    assert pages("") == pages(" \n\n\t") == []
