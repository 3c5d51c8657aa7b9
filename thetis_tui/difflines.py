"""A diff laid out for a width: numbers in the gutter, the mark, colours over the whole row; side by side where there is room.

Must not know about widgets.
"""

from __future__ import annotations

from textual.content import Content

from thetis_tui.diffcolours import coloured
from thetis_tui.diffs import DiffLine
from thetis_tui.lines import EMPTY, Line, folded

_FILLS = {"added": "on $success-muted", "removed": "on $error-muted"}
_MARKS = {"added": ("+", "$text-success bold"), "removed": ("-", "$text-error bold")}
_NARROW = 40
"""Below so many cells the gutter is left out."""
BESIDE_FROM = 124
"""Cells from which old and new stand side by side: 60 for each, which is most lines of most code."""
_BETWEEN = Content.styled("│", "$border-blurred")
Row = tuple[DiffLine, Content]


def diff_lines(parsed: list[DiffLine], width: int, *, files: bool = True, path: str = "") -> list[Line]:
    """Every line of a parsed diff; `files` False leaves the file headers out (a card says them itself).

    `path` names the file, for its colours, when the diff does not.
    """
    digits = max((len(str(max(x.old, x.new))) for x in parsed), default=1)
    gutter = digits + 1 if width >= _NARROW else 0
    beside = width >= BESIDE_FROM
    out: list[Line] = []
    waiting: list[Row] = []
    hunks = 0
    for line, text in zip(parsed, coloured(parsed, path), strict=True):
        if beside and line.kind in ("added", "removed", "same"):
            waiting.append((line, text))
            continue
        out += _beside(waiting, gutter, width)
        waiting.clear()
        if line.kind == "file":
            hunks = 0
            if files:
                if out:
                    out.append(Line())
                out.append(Line(Content.styled(line.text, "bold")))
        elif line.kind == "hunk":
            hunks += 1
            if hunks > 1 or line.text:
                head = Content.styled(" " * gutter + "⋯ ", "$text-disabled")
                out.append(Line((head + Content.styled(line.text, "$text-muted")).truncate(width, ellipsis=True)))
        elif line.kind == "note":
            out += folded(Content.styled(line.text, "$text-muted italic"), width)
        else:
            out += _row(line, text, line.new or line.old, gutter, width)
    return out + _beside(waiting, gutter, width)


def _row(line: DiffLine, text: Content, number: int, gutter: int, width: int) -> list[Line]:
    """One line of a side, folded to `width` cells."""
    fill = _FILLS.get(line.kind, "")
    mark, style = _MARKS.get(line.kind, (" ", ""))
    shown = str(number).rjust(gutter - 1) + " " if gutter else ""
    lead = Content.assemble((shown, "$text-disabled"), (mark, style), " ")
    hang = Content(" " * len(lead))
    out: list[Line] = []
    for index, part in enumerate(folded(text, max(4, width - len(lead)), fill)):
        content = (hang if index else lead) + part.content
        out.append(Line(content, fill, len(hang) if index else -1))
    return out


def _beside(rows: list[Row], gutter: int, width: int) -> list[Line]:
    """A stretch of lines with the old on the left and the new on the right; what changed stands level."""
    half = (width - 3) // 2
    out: list[Line] = []
    olds: list[Row] = []
    news: list[Row] = []

    def flush() -> None:
        for index in range(max(len(olds), len(news))):
            out.extend(_pair(olds[index] if index < len(olds) else None, news[index] if index < len(news) else None))
        olds.clear()
        news.clear()

    def _pair(old: Row | None, new: Row | None) -> list[Line]:
        left = _row(*old, old[0].old, gutter, half) if old else []
        right = _row(*new, new[0].new, gutter, half) if new else []
        return [
            Line(_half(left[y] if y < len(left) else None, half) + " " + _BETWEEN + " "
                 + _half(right[y] if y < len(right) else None, half))
            for y in range(max(len(left), len(right)))
        ]

    for row in rows:
        if row[0].kind == "removed":
            if news:
                flush()
            olds.append(row)
        elif row[0].kind == "added":
            news.append(row)
        else:
            flush()
            out += _pair(row, row)
    flush()
    return out


def _half(line: Line | None, cells: int) -> Content:
    """A side's line, as wide as the side, its colour behind all of it; blank when the side has none."""
    content = line.content if line is not None else EMPTY
    content = content.pad_right(max(0, cells - content.cell_length))
    return content.stylize_before(line.fill, 0, len(content)) if line is not None and line.fill else content
