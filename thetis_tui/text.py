"""Small texts for people: ages, durations, counts, names cut to a number of cells.

Must not know about widgets or the clock: times come in as numbers.
"""

from __future__ import annotations

from rich.cells import cell_len, chop_cells
from thetis_kernel.protocol.cutting import boundary, tail


def cut(text: str, cells: int) -> str:
    """`text` in at most `cells` terminal cells, with an ellipsis when something is missing."""
    if cells <= 0:
        return ""
    if cell_len(text) <= cells:
        return text
    if cells == 1:
        return "…"
    rows = chop_cells(text, cells - 1)
    return (text[: boundary(text, len(rows[0]))] if rows else "") + "…"


def cut_left(text: str, cells: int) -> str:
    """As `cut`, keeping the end (paths say more there)."""
    if cells <= 0 or cell_len(text) <= cells:
        return text if cells > 0 else ""
    kept = text
    while kept and cell_len(kept) > cells - 1:
        kept = tail(kept, len(kept) - 1)
    return "…" + kept


def age(ms: int, now_ms: int) -> str:
    """How long ago in one short word: now, 5m, 3h, 2d, 6w, 2y. In steps of five minutes, so that an idle screen stands still."""
    minutes = max(0, now_ms - ms) // 60_000
    if minutes < 5:
        return "now"
    for size, unit in ((60 * 24 * 365, "y"), (60 * 24 * 7, "w"), (60 * 24, "d"), (60, "h")):
        if minutes >= size:
            return f"{minutes // size}{unit}"
    return f"{minutes // 5 * 5}m"


def duration(seconds: float) -> str:
    """A span: 0.4s, 12s, 3m 05s, 2h 07m."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def count(number: int) -> str:
    """A number that fits: 940, 1.2k, 34k, 1.2M."""
    if number < 1000:
        return str(number)
    if number < 10_000:
        return f"{number / 1000:.1f}k"
    if number < 1_000_000:
        return f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def size(number: int) -> str:
    """Bytes that fit: 940 B, 12 KiB, 3.4 MiB."""
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit in ("B", "KiB") or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return ""


def plural(number: int, noun: str) -> str:
    """`1 file`, `3 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sentence(text: str) -> str:
    """`text` with a capital and a full stop: errors of channels are written to stand inside a sentence."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
