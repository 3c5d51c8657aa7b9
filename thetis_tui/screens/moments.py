"""Where the open conversation can go back to: the words that began each turn, the newest marked."""

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
from thetis_kernel.protocol.timemachine import Moment

from thetis_tui.sanitise import visible
from thetis_tui.text import age, cut
from thetis_tui.widgets.frames import titled


class MomentsScreen(ModalScreen[int]):
    """Dismisses with the number of the words to go back to, 0 for none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(0)", "Close", show=False)]
    DEFAULT_CSS = """
    MomentsScreen { align: center top; background: $background 70%; }
    MomentsScreen > Vertical {
        width: 92%; max-width: 110; height: auto; max-height: 80%; margin-top: 2; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted; padding: 0 1;
    }
    MomentsScreen.-short > Vertical { margin-top: 0; max-height: 100%; width: 100%; border: none; }
    MomentsScreen OptionList {
        border: none; background: transparent; height: auto; max-height: 100%; padding: 0; scrollbar-size-vertical: 1;
    }
    MomentsScreen OptionList > .option-list--option { padding: 0 1; }
    MomentsScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    MomentsScreen OptionList:focus { border: none; background-tint: transparent; }
    """

    def __init__(self, title: str, moments: Sequence[Moment], now_ms: int) -> None:
        super().__init__()
        self._title = title
        self._moments = moments
        self._now_ms = now_ms

    def compose(self) -> ComposeResult:
        with titled(Vertical(), self._title, "enter chooses · esc closes"):
            yield OptionList()

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        options = self.query_one(OptionList)
        width = max(12, self.size.width * 92 // 100 - 8)
        for moment in self._moments:
            when = age(moment.ts_ms, self._now_ms)
            words = cut(" ".join(visible(moment.text).split()) or "(no words)", min(width, 102) - len(when) - 2)
            options.add_option(Option(Content.assemble((f"{when:>4}", "$text-muted"), "  ", words), id=str(moment.seq)))
        options.highlighted = len(self._moments) - 1 if self._moments else None

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(int(event.option_id or 0))
