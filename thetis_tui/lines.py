"""Lines: what every block of the transcript is laid out into, so that a frame costs what is visible and no more.

Must not know about widgets or events. Styles are names of theme variables, resolved when drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

EMPTY = Content()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of cells. `fill`: a style for the row from character `inset` to its end.

    `joins`: it goes on the line before (a soft wrap), and so many characters at its start are indentation that a copy
    leaves out; -1 when it is a line of its own.
    """

    content: Content = EMPTY
    fill: str = ""
    joins: int = -1
    inset: int = 0


def wrapped(content: Content, width: int, fill: str = "") -> list[Line]:
    """`content` wrapped at words; its own newlines start lines of their own."""
    out: list[Line] = []
    for hard in content.split(allow_blank=True):
        for index, part in enumerate(hard.wrap(width)):
            out.append(Line(part, fill, 0 if index else -1))
    return out


def folded(content: Content, width: int, fill: str = "") -> list[Line]:
    """One line of `content` cut at the width (code and output: no word is moved)."""
    if content.cell_length <= width:
        return [Line(content, fill)]
    return [Line(part, fill, 0 if index else -1) for index, part in enumerate(content.fold(width))]


def prefixed(lines: list[Line], lead: Content, hang: Content) -> list[Line]:
    """`lines` with `lead` before the first and `hang` before the others."""
    if not lead and not hang:
        return lines
    out: list[Line] = []
    for index, line in enumerate(lines):
        mark = hang if index else lead
        joins = line.joins + len(mark) if line.joins >= 0 else -1
        out.append(Line(mark + line.content, line.fill, joins, line.inset + len(mark)))
    return out


def copied(lines: list[Line], spans: list[tuple[int, int, int]]) -> str:
    """The text of the selected (line, start, end) spans, with soft wraps undone; end -1 is the line's end."""
    out = ""
    for nth, (y, start, end) in enumerate(spans):
        if not 0 <= y < len(lines):
            continue
        line = lines[y]
        plain = line.content.plain
        if nth and line.joins >= 0:
            out = out.rstrip(" ") + " "
            start = max(start, line.joins)
        elif nth:
            out += "\n"
        out += plain[start : None if end < 0 else end]
    return out
