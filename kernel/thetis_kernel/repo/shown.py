"""Paths inside a repository are bytes; here they become text for people and for the wire, never back."""

from __future__ import annotations


def shown(path: bytes) -> str:
    """`path` as text; bytes that are not UTF-8 appear as `\\xff`. What a screen may show is the screen's to decide."""
    return path.decode("utf-8", "backslashreplace")


def listed(paths: list[bytes], most: int = 3) -> str:
    """The first few of `paths` in a sentence: "a, b and 7 more"."""
    names = ", ".join(shown(path) for path in paths[:most])
    return names if len(paths) <= most else f"{names} and {len(paths) - most} more"


def count(number: int, noun: str) -> str:
    """"1 file", "2 files"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
