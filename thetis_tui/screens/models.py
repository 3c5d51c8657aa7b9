"""The models that can be used, to pick the one that answers from the next turn on."""

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
from thetis_kernel.protocol.models import ModelInfo

from thetis_tui.sanitise import one_line
from thetis_tui.text import count
from thetis_tui.widgets.frames import titled


class ModelsScreen(ModalScreen[str]):
    """Dismisses with the id of a model, "" for none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "Close", show=False)]
    DEFAULT_CSS = """
    ModelsScreen { align: center top; background: $background 70%; }
    ModelsScreen > Vertical {
        width: 76; max-width: 100%; height: auto; max-height: 80%; margin-top: 2; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted; padding: 0 1;
    }
    ModelsScreen.-short > Vertical { margin-top: 0; max-height: 100%; width: 100%; border: none; }
    ModelsScreen OptionList {
        border: none; background: transparent; height: auto; max-height: 100%; padding: 0; scrollbar-size-vertical: 1;
    }
    ModelsScreen OptionList > .option-list--option { padding: 0 1; }
    ModelsScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    ModelsScreen OptionList:focus { border: none; background-tint: transparent; }
    """

    def __init__(self, models: Sequence[ModelInfo], now: str) -> None:
        super().__init__()
        self._models = models
        self._now = now

    def compose(self) -> ComposeResult:
        with titled(Vertical(), "Model from the next turn on", "enter chooses · esc closes"):
            yield OptionList(*(Option(self._line(model), id=model.id) for model in self._models))

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        ids = [model.id for model in self._models]
        options.highlighted = ids.index(self._now) if self._now in ids else 0

    def _line(self, model: ModelInfo) -> Content:
        mark = "●" if model.id == self._now else " "
        told = f"{one_line(model.provider)}, {count(model.window)} tokens"
        return Content.assemble((f"{mark} ", "$text-accent"), one_line(model.label or model.id), (f"  {told}", "$text-muted"))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id or "")
