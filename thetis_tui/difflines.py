"""A diff laid out for a width: numbers in the gutter, the mark, colours over the whole row.

Must not know about widgets.
"""

from __future__ import annotations

from textual.content import Content

from thetis_tui.diffs import DiffLine
from thetis_tui.lines import Line, folded

_ADDED = "$text-success on $success-muted"
_REMOVED = "$text-error on $error-muted"
_NARROW = 40
"""Below so many cells the gutter is left out."""


def diff_lines(parsed: list[DiffLine], width: int, *, files: bool = True) -> list[Line]:
    """Every line of a parsed diff; `files` False leaves the file headers out (a card says them itself)."""
    digits = max((len(str(max(x.old, x.new))) for x in parsed), default=1)
    gutter = digits + 1 if width >= _NARROW else 0
    out: list[Line] = []
    hunks = 0
    for line in parsed:
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
            out += _row(line, gutter, width)
    return out


def _row(line: DiffLine, gutter: int, width: int) -> list[Line]:
    mark, fill = {"added": ("+", _ADDED), "removed": ("-", _REMOVED)}.get(line.kind, (" ", ""))
    number = str(line.new or line.old).rjust(gutter - 1) + " " if gutter else ""
    lead = Content.styled(number, "$text-disabled") + f"{mark} "
    hang = Content(" " * len(lead))
    out: list[Line] = []
    for index, part in enumerate(folded(Content(line.text), max(4, width - len(lead)), fill)):
        content = (hang if index else lead) + part.content
        out.append(Line(content, fill, len(hang) if index else -1))
    return out
