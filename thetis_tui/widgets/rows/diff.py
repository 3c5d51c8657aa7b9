"""A diff that belongs to no call: its title, the tally, and the lines."""

from __future__ import annotations

from textual.content import Content
from thetis_kernel.protocol.blocks import Block

from thetis_tui import diffs
from thetis_tui.difflines import diff_lines
from thetis_tui.lines import Line
from thetis_tui.sanitise import one_line, visible
from thetis_tui.text import cut
from thetis_tui.widgets.rows.base import FoldRow


class DiffRow(FoldRow):
    """A change to files."""

    FAMILY = "diff"
    PREVIEW = 24
    DEFAULT_CSS = """
    DiffRow { padding: 0 1 0 2; }
    """

    def __init__(self, block: Block) -> None:
        super().__init__(block.seq)
        self.block = block
        self._parsed = diffs.parse(block.body)

    def source(self) -> str:
        return visible(self.block.body)

    def head(self, width: int) -> list[Line]:
        added, removed = diffs.tally(self._parsed)
        names = [x.text for x in self._parsed if x.kind == "file"]
        title = one_line(self.block.title) or (names[0] if len(names) == 1 else f"{len(names)} files")
        counts = Content.assemble(("  +" + str(added), "$text-success"), (" -" + str(removed), "$text-error"))
        return [Line(Content.styled(cut(title, width - counts.cell_length), "bold") + counts)]

    def body(self, width: int) -> list[Line]:
        return diff_lines(self._parsed, width, files=sum(x.kind == "file" for x in self._parsed) > 1)

    def preview(self, body: list[Line]) -> tuple[list[Line], int]:
        return ([], len(body)) if self.block.folded and body else super().preview(body)
