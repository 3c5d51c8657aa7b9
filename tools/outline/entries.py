"""One thing in an outline, and how a list of them reads. Must not know languages."""

from __future__ import annotations

from thetis_guest import Record

MAX_ENTRIES = 400
"""Lines of an outline; a longer one helps nobody."""


class Entry(Record):
    """`label` is what the line says; `first` and `last` are lines from 1, `last` 0 when unknown; `level` counts from 1."""

    label: str
    first: int
    last: int = 0
    level: int = 1
    about: str = ""


def listed(entries: list[Entry], depth: int) -> list[str]:
    """A line for each entry down to `depth` levels: its lines, its label, what it is about."""
    shown = [entry for entry in entries if entry.level <= depth]
    width = max((len(_lines(entry)) for entry in shown), default=0)
    lines = [_line(entry, width) for entry in shown[:MAX_ENTRIES]]
    if len(shown) > MAX_ENTRIES:
        lines.append(f"(and {len(shown) - MAX_ENTRIES} more; a smaller depth shows less)")
    hidden = len(entries) - len(shown)
    if hidden:
        lines.append(f"({hidden} deeper {'entry' if hidden == 1 else 'entries'} not shown; raise depth)")
    return lines


def _line(entry: Entry, width: int) -> str:
    about = f"  # {entry.about}" if entry.about else ""
    return f"{_lines(entry).rjust(width)}  {'  ' * (entry.level - 1)}{entry.label}{about}"


def _lines(entry: Entry) -> str:
    return f"{entry.first}-{entry.last}" if entry.last > entry.first else str(entry.first)
