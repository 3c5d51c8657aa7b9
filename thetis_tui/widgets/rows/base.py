"""What all rows share: which event they show, how they space, and folding.

Must not know where blocks come from.
"""

from __future__ import annotations

from textual import events
from textual.content import Content

from thetis_tui.lines import Line, prefixed
from thetis_tui.text import plural
from thetis_tui.widgets.lineblock import LineBlock

MAX_LINES = 4000
"""Lines of one unfolded block that are laid out; the log has the rest."""


class Row(LineBlock):
    """One block of an event. `seq` is the event's; 0 while it is not durable yet.

    `FAMILY`: rows of one family in a row stand without a blank line between them when `CLOSE`.
    """

    FAMILY = "row"
    CLOSE = False
    DEFAULT_CSS = """
    Row { margin-top: 1; padding: 0 1; }
    Row.-tight { margin-top: 0; }
    """

    def __init__(self, seq: int = 0, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.seq = seq

    def source(self) -> str:
        """What the row shows, as text to copy: Markdown, a patch, a command's output as they are, folded or not."""
        return ""


class FoldRow(Row, can_focus=True):
    """A row that shows part of its body until it is unfolded (click, or Enter on it).

    Subclasses give `head` (always shown) and `body`; `PREVIEW` lines of the body stand when folded.
    """

    PREVIEW = 8
    FOCUS_ON_CLICK = False
    DEFAULT_CSS = """
    FoldRow { background-tint: transparent; }
    FoldRow:focus { background: $surface; }
    """

    def __init__(self, seq: int = 0, *, unfolded: bool = False, classes: str | None = None) -> None:
        super().__init__(seq, classes=classes)
        self.unfolded = unfolded
        self.foldable = False

    def head(self, width: int) -> list[Line]:
        """Lines that always show."""
        return []

    def body(self, width: int) -> list[Line]:
        """Lines that fold away."""
        return []

    def preview(self, body: list[Line]) -> tuple[list[Line], int]:
        """The lines of a folded body that show, and how many do not. One hidden line is not worth a fold."""
        if len(body) <= self.PREVIEW + 1:
            return body, 0
        return body[: self.PREVIEW], len(body) - self.PREVIEW

    def margin(self, width: int) -> Content:
        """What stands before each line of the body, of a row of `width` cells."""
        return Content()

    def build(self, width: int) -> list[Line]:
        margin = self.margin(width)
        head = self.head(width)
        body = self.body(max(4, width - margin.cell_length))
        shown, hidden = self.preview(body)
        self.foldable = hidden > 0
        if self.unfolded:
            shown, hidden = body[:MAX_LINES], max(0, len(body) - MAX_LINES)
        out = head + prefixed(shown, margin, margin)
        if hidden:
            more = f"… {plural(hidden, 'more line')}" if shown or not head else ""
            if more:
                out += prefixed([Line(Content.styled(more, "$text-disabled"))], margin, margin)
        return out

    def fold(self, unfolded: bool) -> None:
        """Show all of the body, or its preview."""
        if unfolded != self.unfolded:
            self.unfolded = unfolded
            self.set_class(unfolded, "-unfolded")
            self.rebuild()

    def on_click(self, event: events.Click) -> None:
        if self.foldable and not self.screen.selections:
            event.stop()
            self.fold(not self.unfolded)

    def key_enter(self, event: events.Key) -> None:
        event.stop()
        self.fold(not self.unfolded)
