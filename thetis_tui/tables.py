"""Tables as lines: columns as wide as they need to be, cells wrapped when the screen is narrower.

Must not know about widgets.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from thetis_tui.lines import Line, wrapped

_BETWEEN = "  "
_LEAST = 4


def table_lines(rows: Sequence[Sequence[Content]], aligns: Sequence[str], width: int) -> list[Line]:
    """`rows` (the first is the header) within `width` cells; `aligns` are left, center or right for each column."""
    if not rows or not rows[0]:
        return []
    columns = len(rows[0])
    widths = fitted([max(row[c].cell_length for row in rows if c < len(row)) for c in range(columns)], width)
    if sum(widths) + len(_BETWEEN) * (columns - 1) > width:
        return _stacked(rows, width)
    out: list[Line] = []
    for index, row in enumerate(rows):
        cells = [
            [part for line in (row[c] if c < len(row) else Content()).split(allow_blank=True) for part in line.wrap(w)]
            for c, w in enumerate(widths)
        ]
        for y in range(max(len(cell) for cell in cells)):
            parts: list[Content] = []
            for c, (cell, w) in enumerate(zip(cells, widths, strict=True)):
                text = cell[y] if y < len(cell) else Content()
                align = aligns[c] if c < len(aligns) else "left"
                room = w - text.cell_length
                left = room if align == "right" else room // 2 if align == "center" else 0
                parts.append(Content(" " * left) + text + Content(" " * (room - left)))
            line = Content(_BETWEEN).join(parts).rstrip()
            out.append(Line(line.stylize_before("bold", 0, len(line)) if index == 0 else line))
        if index == 0:
            out.append(Line(Content.styled(_BETWEEN.join("─" * w for w in widths), "$text-disabled")))
    return out


def _stacked(rows: Sequence[Sequence[Content]], width: int) -> list[Line]:
    """Rows one below the other, each cell under its heading: for screens no table fits on."""
    out: list[Line] = []
    for row in rows[1:]:
        out += [Line()] if out else []
        for head, cell in zip(rows[0], row, strict=False):
            out += wrapped(head.stylize_before("bold", 0, len(head)), width)
            out += wrapped(cell, width)
    return out or wrapped(Content(" ").join(rows[0]), width)


def fitted(wanted: list[int], width: int) -> list[int]:
    """Column widths for `width` cells: what they want, or the widest ones cut until all fits (at least 4 each)."""
    room = width - len(_BETWEEN) * (len(wanted) - 1)
    widths = [max(1, w) for w in wanted]
    while sum(widths) > room and max(widths) > _LEAST:
        widest = max(widths)
        second = max((w for w in widths if w < widest), default=_LEAST)
        many = [i for i, w in enumerate(widths) if w == widest]
        cut = min(widest - max(second, _LEAST), -(-(sum(widths) - room) // len(many)))
        for i in many:
            widths[i] -= max(1, cut)
    return widths
