"""Something to read over the desk, as lines: scrolls, selects, closes with Esc."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen

from thetis_tui.lines import Line
from thetis_tui.widgets.frames import titled
from thetis_tui.widgets.lineblock import LineBlock


class Page(LineBlock):
    """Lines made by a function of the width."""

    def __init__(self, lines: Callable[[int], list[Line]]) -> None:
        super().__init__()
        self._make = lines

    def build(self, width: int) -> list[Line]:
        return self._make(width)


class ReadingScreen(ModalScreen[None]):
    """Subclasses give a heading and lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "Close", show=False),
        Binding("j", "scroll('scroll_down')", "Down", show=False),
        Binding("k", "scroll('scroll_up')", "Up", show=False),
        Binding("space", "scroll('page_down')", "Page down", show=False),
        Binding("b", "scroll('page_up')", "Page up", show=False),
        Binding("g", "scroll('scroll_home')", "Top", show=False),
        Binding("G", "scroll('scroll_end')", "Bottom", show=False),
    ]
    DEFAULT_CSS = """
    ReadingScreen { align: center middle; background: $background 70%; }
    ReadingScreen > Vertical {
        width: 94%; height: 92%; max-width: 140; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted;
    }
    ReadingScreen VerticalScroll { padding: 1 2; scrollbar-size-vertical: 1; }
    ReadingScreen.-short > Vertical { width: 100%; height: 100%; border: none; }
    ReadingScreen.-short VerticalScroll { padding: 0 1; }
    """

    heading = ""

    def lines(self, width: int) -> list[Line]:
        """What to read, laid out for `width` cells."""
        raise TypeError(f"{type(self).__name__} has nothing to read")

    def compose(self) -> ComposeResult:
        with titled(Vertical(), self.heading, "esc closes"), VerticalScroll():
            yield Page(self.lines)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_scroll(self, how: str) -> None:
        """Scroll by one of the scroll's own actions."""
        getattr(self.query_one(VerticalScroll), f"action_{how}")()
