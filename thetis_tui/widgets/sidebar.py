"""The list of conversations: title, state, branch, age. Cheap for thousands: lines, not widgets."""

from __future__ import annotations

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from thetis_tui.text import cut

_GLYPHS = {
    "asking": ("?", "$text-warning"),
    "running": ("●", "$text-accent"),
    "interrupted": ("◐", "$text-warning"),
    "parked": ("■", "$text-error"),
    "damaged": ("✗", "$text-error"),
}
_NEW = "new"


@dataclass(frozen=True, slots=True)
class Entry:
    """One conversation as safe one-line texts. `unread`: something ended there since it was looked at; `doing`: what runs
    there or is asked there now."""

    session: str
    title: str
    state: str
    branch: str
    age: str
    unread: bool = False
    doing: str = ""


class ConversationList(OptionList):
    """Two lines an entry; the first entry begins a new conversation."""

    DEFAULT_CSS = """
    ConversationList {
        height: 1fr; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
        & > .option-list--option { padding: 0 1 1 1; }
        & > .option-list--option-highlighted { background: $block-cursor-blurred-background; }
        &:focus { border: none; background-tint: transparent; }
        &:focus > .option-list--option-highlighted { background: $block-cursor-background; }
    }
    """


class Sidebar(Vertical):
    """The list under its heading. `entries` newest first, `current` is marked."""

    DEFAULT_CSS = """
    Sidebar { width: 34; height: 1fr; background: $surface; padding: 1 0 0 0; }
    Sidebar > .heading { padding: 0 2; height: 1; color: $text-muted; margin-bottom: 1; }
    """

    class Chosen(Message):
        """The person wants `session` ("" begins a new one)."""

        def __init__(self, session: str) -> None:
            super().__init__()
            self.session = session

    root: reactive[str] = reactive("")
    entries: reactive[tuple[Entry, ...]] = reactive((), init=False)
    current: reactive[str] = reactive("", init=False)

    def __init__(self) -> None:
        super().__init__()
        self.list = ConversationList()
        self.heading = Static(Content(""), classes="heading", markup=False)
        self._ids: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.list

    def on_mount(self) -> None:
        self._fill()

    def watch_root(self, root: str) -> None:
        self.heading.update(Content.assemble(("Thetis", "bold $text-accent"), f"  {cut(root, 22)}"))

    def watch_entries(self) -> None:
        self._fill()

    def watch_current(self) -> None:
        self._fill()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen("" if event.option_id == _NEW else event.option_id or ""))

    def _fill(self) -> None:
        """Bring the list up to date; lines change in place while the order stands."""
        if not self.list.is_attached:
            return
        ids = [_NEW, *(entry.session for entry in self.entries)]
        prompts = [self._new_line(), *(self._lines(entry) for entry in self.entries)]
        if ids == self._ids:
            for option_id, prompt in zip(ids, prompts, strict=True):
                shown = self.list.get_option(option_id).prompt
                if not (isinstance(shown, Content) and shown.is_same(prompt)):  # equality leaves styles out
                    self.list.replace_option_prompt(option_id, prompt)
        else:
            marked = self.list.highlighted_option.id if self.list.highlighted_option else None
            self._ids = ids
            self.list.clear_options()
            self.list.add_options(Option(prompt, id=i) for i, prompt in zip(ids, prompts, strict=True))
            if self.list.has_focus and marked in ids:
                self.list.highlighted = ids.index(marked)
        if not self.list.has_focus:
            self.list.highlighted = ids.index(self.current) if self.current in ids else 0

    def _new_line(self) -> Content:
        return Content.assemble(("+ ", "$text-accent"), ("New conversation", "$text" if self.current else "bold"))

    def _lines(self, entry: Entry) -> Content:
        width = 34 - 3
        glyph, colour = _GLYPHS.get(entry.state, ("○", "$text-disabled"))
        title_room = width - 3 - len(entry.age)
        title = cut(entry.title, title_room)
        bold = "bold" if entry.unread or entry.session == self.current else "$text"
        line = Content.assemble((f"{glyph} ", colour), (title, bold))
        age_tone = "$text-muted" if entry.session == self.current else "$text-disabled"
        line = line.pad_right(max(1, width - line.cell_length - len(entry.age))) + Content.styled(entry.age, age_tone)
        below = entry.doing or entry.branch or "not started"
        if entry.state in ("interrupted", "parked", "damaged"):
            below = f"{entry.state} · {below}"
        mark = ("• ", "$text-accent") if entry.unread else ("  ", "")
        # on the cursor's colour the faintest grey cannot be read in every theme
        tone = "$text-muted" if entry.doing or entry.session == self.current else "$text-disabled"
        return Content("\n").join([line, Content.assemble(mark, (cut(below, width - 2), tone))])
