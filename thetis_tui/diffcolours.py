"""The text of a diff's lines with the colours of the language its files are written in.

Must not know about widgets. Each side of a hunk is coloured as one text, so that what began above a line counts in it.
"""

from __future__ import annotations

from functools import lru_cache

from textual.content import Content

from thetis_tui.codes import MAX_HIGHLIGHT, highlighted
from thetis_tui.diffs import DiffLine

_SIDES = (("same", "removed"), ("same", "added"))


def coloured(parsed: list[DiffLine], path: str = "") -> list[Content]:
    """A content for each line of `parsed`, in its order. `path` names the file when the diff itself does not."""
    out = [Content(line.text) for line in parsed]
    if sum(len(line.text) + 1 for line in parsed) > MAX_HIGHLIGHT:
        return out
    language, start = language_of(path), 0
    for index, line in enumerate([*parsed, DiffLine("file", "")]):
        if line.kind in ("file", "hunk"):
            _colour(parsed, start, index, language, out)
            start = index + 1
        if line.kind == "file":
            language = language_of(line.text) or language_of(path)
    return out


def _colour(parsed: list[DiffLine], start: int, end: int, language: str, out: list[Content]) -> None:
    """Colour the lines of one hunk."""
    if not language:
        return
    for side in _SIDES:
        places = [index for index in range(start, end) if parsed[index].kind in side]
        text = "\n".join(parsed[index].text for index in places)
        lines = highlighted(text, language).split(allow_blank=True)
        if len(lines) == len(places):  # a language whose lexer changes line ends is shown plain
            for index, line in zip(places, lines, strict=True):
                out[index] = line


@lru_cache(maxsize=256)
def language_of(path: str) -> str:
    """The language a file is written in, by its name; "" when nobody knows."""
    name = path.removesuffix(" (deleted)").rsplit("/", 1)[-1]
    if not name:
        return ""
    from pygments.lexers import find_lexer_class_for_filename  # type: ignore[import-untyped]

    found = find_lexer_class_for_filename(name)
    return str(found.aliases[0]) if found is not None and found.aliases and found.aliases[0] != "text" else ""
