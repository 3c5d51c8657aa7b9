"""The list of all conversations and of places in their transcripts: two lines an entry, drawn from the lines in view only.

Must not know the gateway or the state: it is given entries and says which one was chosen.
"""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from thetis_tui.overview import STATES, Card, Found
from thetis_tui.text import cut

Entry = Card | Found
_WIDE, _MIDDLE = 92, 60
"""Columns from which branch and cost, or the cost alone, have columns of their own."""
_STATED = 40
"""Cells from which the state is a word, too; the mark says it everywhere."""
_HEIGHT = 2


class HomeList(ScrollView, can_focus=True):
    """Conversations first, then places found in transcripts, under a line that says so."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-8)", "Page up", show=False),
        Binding("pagedown", "move(8)", "Page down", show=False),
        Binding("home,g", "move(-1000000)", "First", show=False),
        Binding("end,G", "move(1000000)", "Last", show=False),
        Binding("enter", "take", "Open", show=False),
    ]
    DEFAULT_CSS = """
    HomeList { height: 1fr; scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: clip; }
    """

    class Taken(Message):
        """An entry was chosen."""

        def __init__(self, entry: Entry) -> None:
            super().__init__()
            self.entry = entry

    cursor: reactive[int] = reactive(0, init=False)

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        self.words = ""
        self.empty = ""
        self.active = True
        """Whether Enter goes to this list now, so that its cursor is drawn at full strength."""

    @property
    def chosen(self) -> Entry | None:
        """The entry under the cursor."""
        return self.entries[self.cursor] if 0 <= self.cursor < len(self.entries) else None

    def show(self, entries: list[Entry], *, words: str = "", empty: str = "") -> None:
        """Put other entries there; the cursor stays on its entry while that is among them."""
        kept = _key(self.chosen)
        if entries == self.entries and words == self.words and empty == self.empty:
            return
        self.entries, self.words, self.empty = entries, words, empty
        keys = [_key(entry) for entry in entries]
        at = keys.index(kept) if kept in keys else min(self.cursor, max(0, len(entries) - 1))
        self.set_reactive(HomeList.cursor, at)
        self.virtual_size = Size(0, len(entries) * _HEIGHT)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.visual_style
        index, part = divmod(y + self.scroll_offset.y, _HEIGHT)
        if not self.entries and y == 1 and self.empty:
            content = Content.styled(f"  {self.empty}", "$text-muted")
        elif index >= len(self.entries):
            return Strip.blank(width, style.rich_style)
        else:
            entry = self.entries[index]
            content = self._content(entry, part, width - 2, "$text-muted" if index == self.cursor else "$text-disabled")
            if index == self.cursor:
                name = "$block-cursor-background" if self.active else "$block-cursor-blurred-background"
                style += self._get_style(f"on {name}")
            bar = Content.styled("▌", "$accent") if index == self.cursor and self.active else Content(" ")
            content = bar + content
        strip = Visual.to_strips(self, content, width, 1, style, apply_selection=False)[0]
        return strip.extend_cell_length(width, style.rich_style)

    def _content(self, entry: Entry, part: int, width: int, faint: str) -> Content:
        if isinstance(entry, Found):
            return self._found(entry, part, width)
        return self._card_head(entry, width, faint) if part == 0 else self._card_foot(entry, width, faint)

    def _card_head(self, card: Card, width: int, faint: str) -> Content:
        mark, colour = STATES[card.state]
        right = Content.styled(card.age.rjust(4), faint)
        if width >= _MIDDLE:
            right = Content.styled(cut(card.cost, 12).rjust(12) + " ", "$text-muted") + right
        if width >= _WIDE:
            right = Content.styled(cut(card.branch, 16).ljust(16), faint) + right
        word = "archived" if card.archived and card.state == "idle" else card.state
        if width >= _STATED:
            right = Content.styled(word.ljust(10), colour if card.state != "idle" else faint) + right
        room = width - right.cell_length - 4
        title = cut(card.title, room)
        new = Content.styled(" •", "$text-accent") if card.unread and cell_len(title) + 2 <= room else Content()
        line = Content.assemble((f"{mark} ", colour), (title, "bold" if card.unread or card.live else "$text")) + new
        return line.pad_right(max(1, width - line.cell_length - right.cell_length)) + right

    def _card_foot(self, card: Card, width: int, faint: str) -> Content:
        text = card.doing
        if width < _WIDE and not card.live:
            text = f"{card.branch} · {text}"
        return Content.styled("  " + cut(text, width - 4), "$text-muted" if card.live else faint)

    def _found(self, found: Found, part: int, width: int) -> Content:
        if part == 0:
            kind = Content.styled(f"  {found.kind} {found.seq}", "$text-disabled")
            return Content.assemble(("⌕ ", "$text-secondary"), cut(found.title, width - kind.cell_length - 4)) + kind
        text = cut(found.snippet, width - 4)
        line = Content.styled("  " + text, "$text-muted")
        low = line.plain.casefold()
        for word in self.words.casefold().split():
            at = low.find(word)
            while at >= 0 and len(low) == len(line.plain):
                line = line.stylize("$text-accent bold", at, at + len(word))
                at = low.find(word, at + len(word))
        return line

    def watch_cursor(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        first = self.cursor * _HEIGHT
        if first < top:
            self.scroll_to(y=first, animate=False)
        elif first + _HEIGHT > top + height:
            self.scroll_to(y=first + _HEIGHT - height, animate=False)
        self.refresh()

    def action_move(self, step: int) -> None:
        if self.entries:
            self.cursor = min(len(self.entries) - 1, max(0, self.cursor + step))

    def action_take(self) -> None:
        if self.chosen is not None:
            self.post_message(self.Taken(self.chosen))

    def on_click(self, event: events.Click) -> None:
        index = (event.y + self.scroll_offset.y) // _HEIGHT
        if 0 <= index < len(self.entries):
            self.cursor = index
            self.action_take()


def _key(entry: Entry | None) -> tuple[str, int]:
    if isinstance(entry, Found):
        return entry.session, entry.seq
    return (entry.session, 0) if entry is not None else ("", -1)
