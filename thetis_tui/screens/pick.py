"""One of a few, over whatever is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from thetis_tui.sanitise import one_line
from thetis_tui.widgets.frames import titled


class PickScreen(ModalScreen[str]):
    """Dismisses with the one chosen, "" for none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "Close", show=False)]
    DEFAULT_CSS = """
    PickScreen { align: center middle; background: $background 70%; }
    PickScreen > Vertical {
        width: 64; max-width: 100%; height: auto; max-height: 80%; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted; padding: 0 1;
    }
    PickScreen OptionList { border: none; background: transparent; height: auto; max-height: 100%; padding: 0; }
    PickScreen OptionList > .option-list--option { padding: 0 1; }
    PickScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    PickScreen OptionList:focus { border: none; background-tint: transparent; }
    """

    def __init__(self, title: str, choices: Sequence[str], now: str) -> None:
        super().__init__()
        self._heading = title
        self._choices = choices
        self._now = now

    def compose(self) -> ComposeResult:
        with titled(Vertical(), self._heading, "enter chooses · esc leaves it"):
            yield OptionList(*(
                Option(Content.assemble(("● " if one == self._now else "  ", "$text-accent"), one_line(one)))
                for one in self._choices))

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = self._choices.index(self._now) if self._now in self._choices else 0

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index])
