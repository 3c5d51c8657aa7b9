"""The line at the foot of a page: its keys and what they do, as many as fit, the way out always among them.

Must not know about widgets.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

_GAP = 3


def key_line(pairs: Sequence[tuple[str, str]], width: int) -> Content:
    """(key, word) pairs in `width` cells, the most important first; the last one is the way out and never left out."""
    parts = [Content.assemble((key, "$text-accent"), (f" {word}", "$text-muted")) for key, word in pairs]
    if not parts:
        return Content()
    room = width - parts[-1].cell_length
    kept: list[Content] = []
    for part in parts[:-1]:
        room -= part.cell_length + _GAP
        if room < 0:
            break
        kept.append(part)
    return Content(" " * _GAP).join([*kept, parts[-1]])
