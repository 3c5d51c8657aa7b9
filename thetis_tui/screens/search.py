"""Full-text search over every conversation of the root."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import SearchHit

from thetis_tui.sanitise import one_line
from thetis_tui.text import cut, plural
from thetis_tui.widgets.frames import titled

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_PAUSE = 0.12
"""Seconds after a key before the search runs: a search for every letter would only be thrown away."""


class SearchScreen(ModalScreen[SearchHit | None]):
    """Dismisses with the chosen hit, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", show=False),
        Binding("down", "mark(1)", "Down", show=False),
        Binding("up", "mark(-1)", "Up", show=False),
    ]
    DEFAULT_CSS = """
    SearchScreen { align: center top; background: $background 70%; }
    SearchScreen > Vertical {
        width: 92%; max-width: 110; height: 80%; margin-top: 2; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted; padding: 0 1;
    }
    SearchScreen.-short > Vertical { margin-top: 0; height: 100%; width: 100%; border: none; }
    SearchScreen Input { border: none; background: transparent; height: 1; padding: 0 1; }
    SearchScreen Input:focus { border: none; background-tint: transparent; }
    SearchScreen Static { color: $text-muted; padding: 0 1; height: 1; }
    SearchScreen OptionList {
        border: none; background: transparent; height: 1fr; padding: 0; margin-top: 1; scrollbar-size-vertical: 1;
    }
    SearchScreen OptionList > .option-list--option { padding: 0 1; }
    SearchScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    SearchScreen OptionList:focus { border: none; background-tint: transparent; }
    """

    def __init__(self, words: str = "") -> None:
        super().__init__()
        self._words = one_line(words)
        self.hits: list[SearchHit] = []

    def compose(self) -> ComposeResult:
        with titled(Vertical(), "Search all conversations", "enter opens · esc closes"):
            yield Input(self._words, placeholder="words", select_on_focus=False)
            yield Static(Content(""), markup=False)
            yield OptionList()

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False
        self.query_one(OptionList).can_focus = False

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._search(event.value)

    @work(exclusive=True, group="search")
    async def _search(self, words: str) -> None:
        app = cast("ThetisApp", self.app)
        await asyncio.sleep(_PAUSE)
        if not words.strip():
            self._show([], "")
            return
        try:
            hits = await app.ask(app.client.search(words.strip()))
        except ThetisError as error:
            self._show([], one_line(error.message))
        else:
            self._show(hits, plural(len(hits), "hit") if hits else "Nothing found.")

    def _show(self, hits: list[SearchHit], note: str) -> None:
        app = cast("ThetisApp", self.app)
        self.hits = hits
        self.query_one(Static).update(Content(note))
        options = self.query_one(OptionList)
        options.clear_options()
        width = max(16, options.size.width - 4)
        for hit in hits:
            conversation = app.state.conversations.get(hit.session)
            title = one_line(conversation.title if conversation else "") or hit.session[:8]
            kind = one_line(hit.kind)
            head = Content.assemble((cut(title, width - len(kind) - 2), "bold"), (f"  {kind}", "$text-disabled"))
            snippet = Content.styled(cut(one_line(hit.snippet), width), "$text-muted")
            options.add_option(Option(Content("\n").join([head, snippet])))
        options.highlighted = 0 if hits else None

    @on(Input.Submitted)
    def _submitted(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self.hits):
            self.dismiss(self.hits[at])

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.hits[event.option_index])

    def action_mark(self, step: int) -> None:
        options = self.query_one(OptionList)
        if self.hits:
            options.highlighted = ((options.highlighted or 0) + step) % len(self.hits)
