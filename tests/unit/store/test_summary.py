"""Titles and previews: one line, never longer than allowed, never a cut character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.store import summary


@given(st.text(max_size=300), st.integers(2, 60))
def test_one_line_within_its_length(text, length):
    line = summary.one_line(text, length)
    assert len(line) <= length
    assert line == " ".join(line.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", summary.UNTITLED),
        ("  fix\n the\tparser ", "fix the parser"),
        ("please make the parser of the configuration faster than it is", "please make the parser of the configuration…"),
        ("x" * 60, "x" * 47 + "…"),
    ],
)
def test_titles(text, expected):
    assert summary.title(text) == expected


def test_a_first_message_of_megabytes_costs_nothing():
    assert summary.title("word " * 1_000_000).startswith("word word")


def test_a_cut_keeps_characters_whole():
    assert summary.one_line("e\u0301" * 10, 6) == "e\u0301e\u0301…"
    assert "\u200d" not in summary.one_line("ab\U0001f468\u200d\U0001f469\u200d\U0001f467cdef", 5)
