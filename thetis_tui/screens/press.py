"""A key for a command, pressed rather than spelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from thetis_tui import keymap
from thetis_tui.widgets.frames import titled


class PressScreen(ModalScreen[str]):
    """Dismisses with the key, "" when none was chosen. `loses`: the titles of those that have it now."""

    BINDINGS: ClassVar[list[BindingType]] = []
    DEFAULT_CSS = """
    PressScreen { align: center middle; background: $background 70%; }
    PressScreen > Vertical {
        width: 64; max-width: 100%; height: auto; padding: 1 2; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted;
    }
    PressScreen Static { height: auto; }
    """

    def __init__(self, title: str, loses: Callable[[str], list[str]]) -> None:
        super().__init__()
        self._heading = title
        self._loses = loses
        self._chosen = ""
        self._words = Static(Content("Press the key it should have."), markup=False)

    def compose(self) -> ComposeResult:
        with titled(Vertical(), self._heading, "esc leaves it"):
            yield self._words

    async def on_event(self, event: events.Event) -> None:
        """Every key is an answer here, also those the program has a use for."""
        if isinstance(event, events.Key):
            event.stop()
            event.prevent_default()
            self._pressed(event.key)
            return
        await super().on_event(event)

    def _pressed(self, key: str) -> None:
        if key == "escape":
            self.dismiss("")
        elif key == "enter" and self._chosen:
            self.dismiss(self._chosen)
        elif why := keymap.unusable(key):
            self._chosen = ""
            self._words.update(Content.styled(f"{why}. Press another.", "$text-warning"))
        else:
            self._chosen = key
            lost = self._loses(key)
            words = Content.assemble((key, "bold $text-accent"), "  enter takes it")
            if lost:
                words += Content.styled(f"\n{', '.join(lost)} has it now and would be without.", "$text-warning")
            self._words.update(words)
