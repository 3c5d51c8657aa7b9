"""Home: every conversation with how it stands, what it is doing now, and what can be done with it; search over all of them.

Owns the words looked for and where the cursor is. Must not know how anything is carried out: a key performs a command on
the conversation under the cursor.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static
from thetis_kernel.errors import ThetisError

from thetis_tui.commands import BY_ID
from thetis_tui.keyline import key_line
from thetis_tui.overview import Card, Found, cards_of, found_of, tally
from thetis_tui.sanitise import one_line
from thetis_tui.text import cut, plural
from thetis_tui.widgets.homelist import Entry, HomeList

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_PAUSE = 0.12
"""Seconds after a key before the transcripts are searched: a search for every letter would only be thrown away."""
_TICK = 1.0
"""Seconds between two looks while something runs: elapsed times are in seconds."""
KEYS: tuple[tuple[str, str, str], ...] = (
    ("enter", "open", ""), ("/", "search", ""), ("n", "new", "new"), ("m", "merge", "merge"), ("r", "rename", "title"),
    ("a", "archive", "archive"), ("d", "delete", "delete"), ("f", "fork", "fork"), ("v", "archived too", ""), ("esc", "back", ""),
)
"""(key, word, the command it performs on the conversation under the cursor); the line at the foot."""


class HomeScreen(Screen[None]):
    """Covers the desk; Esc goes back to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("f4,q", "leave", "Back", show=False),
        Binding("slash,f5", "search", "Search", show=False),
        Binding("v", "archived", "Archived too", show=False),
        *(Binding(key, f"do('{command}')", word, show=False) for key, word, command in KEYS if command),
        Binding("delete", "do('delete')", "Delete", show=False),
    ]
    DEFAULT_CSS = """
    HomeScreen { background: $background; layout: vertical; }
    HomeScreen > #home-head { height: 1; margin: 1 0; padding: 0 2; }
    HomeScreen > #home-search { height: 3; margin: 0 1 1 1; padding: 0 1; border: round $border-blurred; display: none; }
    HomeScreen.-searching > #home-search { display: block; }
    HomeScreen > #home-search:focus-within { border: round $border; }
    HomeScreen #home-search Static { width: 2; color: $text-accent; }
    HomeScreen #home-search Input { border: none; background: transparent; height: 1; padding: 0; width: 1fr; }
    HomeScreen #home-search Input:focus { border: none; background-tint: transparent; }
    HomeScreen > HomeList { margin: 0 1; }
    HomeScreen > #home-foot {
        height: 1; padding: 0 2; margin-top: 1; color: $text-muted; text-wrap: nowrap; text-overflow: clip;
    }
    HomeScreen.-short > #home-head { margin: 0; }
    HomeScreen.-short > #home-search { height: 1; border: none; margin: 0; }
    HomeScreen.-short > #home-foot { margin: 0; }
    """

    def __init__(self, words: str = "") -> None:
        super().__init__()
        self.list = HomeList()
        self.input = Input(one_line(words), placeholder="title, branch, or any words of any transcript", select_on_focus=False)
        self.archived = False
        self._head = Static(Content(""), id="home-head", markup=False)
        self._foot = Static(Content(""), id="home-foot", markup=False)
        self._hits: list[Found] = []
        self._note = ""

    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal(id="home-search"):
            yield Static(Content("⌕ "), markup=False)
            yield self.input
        yield self.list
        yield self._foot

    def on_mount(self) -> None:
        self.input.cursor_blink = False
        self.set_interval(_TICK, self._tick)
        self.set_class(bool(self.input.value), "-searching")
        self.list.cursor = next((n for n, card in enumerate(self._cards()) if card.session == self.thetis.state.current), 0)
        (self.input if self.input.value else self.list).focus()
        self.refresh_state()
        if self.input.value:
            self._search(self.input.value)

    # --- what is shown

    def refresh_state(self) -> None:
        """Show the state as it is now."""
        entries: list[Entry] = [*self._cards(), *self._hits]
        empty = self._note or ("Nothing found." if self.input.value else "No conversations yet: n begins one.")
        self.list.active = True
        self.list.show(entries, words=self.input.value, empty=empty)
        root = one_line(self.thetis.state.status.root.rstrip("/").rsplit("/", 1)[-1]) if self.thetis.state.status else ""
        width = max(20, self.size.width - 4)
        right = tally(self.thetis.state)
        if self.input.value:
            right = f"{plural(len(self._cards()), 'conversation')}, {plural(len(self._hits), 'place')}"
        left = Content.assemble(("Thetis", "bold $text-accent"), f"  {cut(root, 24)}")
        gap = width - left.cell_length - len(right)
        self._head.update(left + Content(" " * gap) + Content.styled(right, "$text-muted") if gap >= 2 else left)
        self._foot.update(self._keys(width))

    def _cards(self) -> list[Card]:
        return cards_of(self.thetis.state, self.input.value, archived=self.archived)

    def _keys(self, width: int) -> Content:
        away = getattr(self.list.chosen, "archived", False)
        known = [(key, word, command) for key, word, command in KEYS if not command or command in BY_ID]
        return key_line([(key, "unarchive" if command == "archive" and away else word) for key, word, command in known], width)

    def _tick(self) -> None:
        if self.thetis.state.turns:
            self.refresh_state()

    def on_resize(self) -> None:
        self.refresh_state()

    # --- search

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if not event.value.strip():
            self._hits, self._note = [], ""
        self.list.cursor = 0
        self.refresh_state()
        self._search(event.value)

    @work(exclusive=True, group="search")
    async def _search(self, words: str) -> None:
        await asyncio.sleep(_PAUSE)
        if not words.strip():
            return
        try:
            hits = await self.thetis.ask(self.thetis.client.search(words.strip()))
        except ThetisError as error:
            self._hits, self._note = [], one_line(error.message)
        else:
            self._hits, self._note = found_of(self.thetis.state, hits), ""
        self.refresh_state()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.list.action_take()

    def on_key(self, event: events.Key) -> None:
        """While words are typed the arrows still move in the list."""
        if self.input.has_focus and event.key in ("up", "down", "pageup", "pagedown"):
            event.stop()
            event.prevent_default()
            self.list.action_move({"up": -1, "down": 1, "pageup": -8, "pagedown": 8}[event.key])

    # --- keys

    def action_search(self) -> None:
        self.add_class("-searching")
        self.input.focus()

    def action_archived(self) -> None:
        self.archived = not self.archived
        self.refresh_state()

    def action_back(self) -> None:
        """Esc: first out of the search, then out of here."""
        if self.has_class("-searching"):
            self.remove_class("-searching")
            self.input.value = ""
            self.list.focus()
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_do(self, command_id: str) -> None:
        """Perform a command on the conversation under the cursor."""
        entry = self.list.chosen
        if command_id == "new":
            self.dismiss(None)
            self.thetis.perform("new")
        elif entry is not None and command_id in BY_ID:
            self.thetis.perform_on(entry.session, command_id)

    @on(HomeList.Taken)
    def _taken(self, event: HomeList.Taken) -> None:
        event.stop()
        self.dismiss(None)
        entry = event.entry
        self.thetis.show(entry.session, at=entry.seq if isinstance(entry, Found) else 0)
