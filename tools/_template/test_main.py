"""Tests of the tool's own logic: plain functions named test_*, plain asserts. They run inside the walls, without a host."""

from __future__ import annotations

from main import describe, report


def test_it_counts_lines_and_words() -> None:
    assert report("a.txt", "one two\nthree\n", 120) == "a.txt: 2 lines, 3 words, 0 lines longer than 120 characters"


def test_long_lines_are_counted_by_the_setting() -> None:
    assert "1 lines longer than 3 characters" in report("a.txt", "four\nx", 3)


def test_it_says_that_it_changes_nothing() -> None:
    assert describe().mutating is False
