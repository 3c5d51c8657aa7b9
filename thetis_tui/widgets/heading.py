"""The line above the transcript: which conversation this is; and below it what is being prepared or went wrong."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from thetis_tui.text import cut


class Heading(Widget):
    """Title left, place right."""

    DEFAULT_CSS = """
    Heading { height: 1; padding: 0 2; margin-top: 1; text-wrap: nowrap; text-overflow: clip; }
    """

    title: reactive[str] = reactive("")
    place: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        width = self.size.width
        place = self.place if len(self.place) + 16 <= width else ""
        title = cut(self.title, width - (len(place) + 2 if place else 0))
        line = Content.styled(title, "bold")
        if place:
            line = line.pad_right(width - line.cell_length - len(place)) + Content.styled(place, "$text-disabled")
        return line


class ProgressLine(Widget):
    """Long work in one slim line: what, a bar, how far. Hidden while there is none."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; padding: 0 2; display: none; color: $text-muted; text-wrap: nowrap; text-overflow: clip; }
    ProgressLine.-shown { display: block; }
    """

    what: reactive[str] = reactive("")
    done: reactive[int] = reactive(0)
    total: reactive[int] = reactive(0)

    def watch_what(self, what: str) -> None:
        self.set_class(bool(what), "-shown")

    def render(self) -> RenderResult:
        width = self.size.width
        if self.total <= 0:
            return Content(cut(f"{self.what}…", width))
        share = min(1.0, max(0.0, self.done / self.total))
        right = f" {int(share * 100):3}%"
        bar = min(24, max(0, width // 3))
        full = round(share * bar)
        text = cut(self.what, max(4, width - bar - len(right) - 2))
        return Content.assemble(
            text, "  ", ("━" * full, "$accent"), ("━" * (bar - full), "$border-blurred"), (right, "$text-muted")
        )


class Banner(Static):
    """A trouble that stays until it is over, with the way out."""

    DEFAULT_CSS = """
    Banner { display: none; height: auto; padding: 0 2; background: $error-muted; color: $text-error; }
    Banner.-shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(Content(""), markup=False)

    def show(self, message: str, hint: str = "") -> None:
        """Say it; "" hides."""
        self.set_class(bool(message), "-shown")
        parts = [Content.styled(message, "bold")] + ([Content(hint)] if hint else [])
        self.update(Content("\n").join(parts))
