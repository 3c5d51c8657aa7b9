"""What a conversation has changed: the files, then every line."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.content import Content
from thetis_kernel.protocol.client import DiffText

from thetis_tui import diffs
from thetis_tui.difflines import diff_lines
from thetis_tui.lines import Line
from thetis_tui.sanitise import one_line
from thetis_tui.screens.reading import Page, ReadingScreen
from thetis_tui.text import cut_left, plural

_NARROW = 40
"""Cells below which counts have no column."""


class DiffScreen(ReadingScreen):
    """A diff over the desk."""

    def __init__(self, diff: DiffText, at: str = "") -> None:
        """`at`: the file to begin with; "" for the beginning."""
        super().__init__()
        self._diff = diff
        self._at = at
        self._parsed = diffs.parse(diff.patch)
        added, removed = sum(f[1] for f in diff.files), sum(f[2] for f in diff.files)
        self.heading = f"{plural(len(diff.files), 'file')} changed · +{added} -{removed}"

    def on_mount(self) -> None:
        super().on_mount()
        if self._at:
            self.call_after_refresh(self._go)

    def _go(self) -> None:
        """Bring the file's heading to the top."""
        page, scroll = self.query_one(Page), self.query_one(VerticalScroll)
        first = len(self._diff.files)
        for row, line in enumerate(page.lines_at(page.size.width)[first:], first):
            if line.content.plain.removesuffix(" (deleted)") == one_line(self._at):
                scroll.scroll_to(y=row, animate=False)
                return

    def lines(self, width: int) -> list[Line]:
        if not self._diff.files and not self._parsed:
            return [Line(Content.styled("Nothing has changed on this branch.", "$text-muted"))]
        out: list[Line] = []
        for path, added, removed in self._diff.files:
            left, right = (6, 7) if width >= _NARROW else (0, 0)
            counts = Content.assemble((f"+{added}".rjust(left), "$text-success"), (f" -{removed} ".ljust(right), "$text-error"))
            out.append(Line(counts + Content(cut_left(one_line(path), width - counts.cell_length))))
        out.append(Line())
        out += diff_lines(self._parsed, width)
        if self._diff.truncated:
            out += [Line(), Line(Content.styled("The rest is too long to show here.", "$text-warning"))]
        return out
