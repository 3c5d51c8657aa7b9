"""One line of text asked for over the desk."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from thetis_tui.sanitise import one_line
from thetis_tui.widgets.frames import titled


class AskScreen(ModalScreen[str | None]):
    """Dismisses with the text, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel", show=False)]
    DEFAULT_CSS = """
    AskScreen { align: center middle; background: $background 70%; }
    AskScreen > Vertical {
        width: 64; max-width: 100%; height: auto; padding: 0 1; background: $background; border: round $border;
        border-title-color: $text-accent;
    }
    AskScreen Input { border: none; background: transparent; padding: 0 1; height: 1; }
    AskScreen Input:focus { border: none; background-tint: transparent; }
    """

    def __init__(self, title: str, value: str) -> None:
        super().__init__()
        self._heading = title
        self._value = one_line(value)

    def compose(self) -> ComposeResult:
        with titled(Vertical(), self._heading, "enter keeps · esc leaves it"):
            yield Input(self._value, select_on_focus=True)

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(one_line(event.value))
