"""The log beside the transcript: every event a line, read in pages as they come into view.

Owns the cache of lines; asks for pages with messages. A log of 100,000 events costs what is on the screen.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual
from textual.widgets import Input, Static
from thetis_kernel.protocol.events import Event

from thetis_tui.logfilter import Filter, line_of, parsed
from thetis_tui.text import cut, plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

PAGE = 100
PAGES = 24
"""Pages of lines kept."""
_KINDS = 15
"""Cells of the column of kinds where there is room for one."""
_COLOURS = {
    "user": "$text-accent", "nudge": "$text-accent", "assistant": "$text", "tool-invocation": "$text-secondary",
    "tool-result": "$text-secondary", "incident": "$text-error", "turn-started": "$text-disabled",
    "turn-finished": "$text-disabled", "system-note": "$text-warning", "branch-op": "$text-success",
    "modification": "$text-warning",
}


class EventLines(ScrollView, can_focus=True):
    """The lines. `last` is the log's end; a page that is not there is asked for once and drawn when it comes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-20)", "Page up", show=False),
        Binding("pagedown", "move(20)", "Page down", show=False),
        Binding("home", "move(-1000000000)", "First", show=False),
        Binding("end", "move(1000000000)", "Last", show=False),
        Binding("enter", "show", "Show the event", show=False),
    ]
    DEFAULT_CSS = """
    EventLines { height: 1fr; scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: clip; }
    """

    class Wanted(Message):
        """The page of events after `after` has come into view."""

        def __init__(self, after: int) -> None:
            super().__init__()
            self.after = after

    class Chosen(Message):
        """The person wants to read event `seq` in full."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    cursor: reactive[int] = reactive(0, init=False)

    def __init__(self) -> None:
        super().__init__()
        self.last = 0
        self._pages: LRUCache[int, dict[int, tuple[str, str, str]]] = LRUCache(PAGES)
        self._asked: set[int] = set()
        self.wanted = Filter()
        self.chosen: list[int] = []
        """With a filter: the events that match, in the log's order."""
        self._lines: dict[int, tuple[str, str, str]] = {}

    @property
    def rows(self) -> int:
        """Lines there are."""
        return len(self.chosen) if self.wanted else self.last

    def seq_at(self, row: int) -> int:
        """The event on a row; 0 when there is none."""
        if not 0 <= row < self.rows:
            return 0
        return self.chosen[row] if self.wanted else row + 1

    def row_of(self, seq: int) -> int:
        """The row of an event, or the next one's."""
        return bisect_left(self.chosen, seq) if self.wanted else seq - 1

    def choose(self, wanted: Filter) -> None:
        """Show only what matches, as `found` brings it; all of the log for an empty filter."""
        self.wanted, self.chosen, self._lines = wanted, [], {}
        self.set_reactive(EventLines.cursor, 0)
        self._sized()
        self.scroll_end(animate=False, immediate=True)

    def found(self, hits: list[tuple[int, tuple[str, str, str]]]) -> None:
        """More events that match, older than those before."""
        self.chosen[:0] = [seq for seq, _ in hits]
        self._lines.update(hits)
        below = self.virtual_size.height - self.scroll_offset.y
        self._sized()
        self.scroll_to(y=self.rows - below, animate=False, immediate=True)  # what is looked at stays where it is

    def _sized(self) -> None:
        self.virtual_size = Size(0, self.rows)
        self.refresh()

    def reset(self, last: int) -> None:
        """Another conversation's log, `last` events long."""
        self._pages.clear()
        self._asked.clear()
        self.last = last
        self.chosen, self._lines = [], {}
        self.set_reactive(EventLines.cursor, 0)
        self.virtual_size = Size(0, self.rows)
        self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def grew(self, event: Event) -> None:
        """A new event at the end (or beyond a gap: the pages between are read when they come into view)."""
        at_end = self.is_vertical_scroll_end
        if event.seq > self.last:
            self.last = event.seq
            if self.wanted and self.wanted.takes(event):
                self.chosen.append(event.seq)
                self._lines[event.seq] = line_of(event)
            self.virtual_size = Size(0, self.rows)
        page = self._pages.get((event.seq - 1) // PAGE)
        if page is not None:
            page[event.seq] = line_of(event)
        if at_end:
            self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def put(self, after: int, events_: list[Event]) -> None:
        """A page that was asked for."""
        self._asked.discard(after)
        self._pages[after // PAGE] = {event.seq: line_of(event) for event in events_}
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        seq = self.seq_at(y + self.scroll_offset.y)
        style = self.visual_style
        if not seq:
            return Strip.blank(width, style.rich_style)
        index = (seq - 1) // PAGE
        page = self._pages.get(index)
        line = self._lines.get(seq) if self.wanted else page.get(seq) if page is not None else None
        if line is None and not self.wanted:
            after = index * PAGE
            if after not in self._asked:
                self._asked.add(after)
                # Drawing happens in the screen's name, and a message never passes its sender on the way up.
                self.post_message(self.Wanted(after).set_sender(self))
        if seq == self.cursor and self.has_focus:
            style += self._get_style("on $block-cursor-background")
        content = self._content(seq, line, width)
        strip = Visual.to_strips(self, content, width, 1, style, apply_selection=False)[0]
        return strip.extend_cell_length(width, style.rich_style)

    def _content(self, seq: int, line: tuple[str, str, str] | None, width: int) -> Content:
        number = str(seq).rjust(len(str(self.last)))
        if line is None:
            return Content.styled(f" {number} …", "$text-disabled")
        when, kind, text = line
        time = f"{when} " if width >= 44 else ""
        colour, column = _COLOURS.get(kind, "$text-muted"), _KINDS if width >= 60 else 0
        head = Content.assemble((f" {number} {time}", "$text-disabled"), (kind.ljust(column), colour))
        return head + Content.styled(" " + cut(text, width - head.cell_length - 2), "$text-muted")

    def watch_cursor(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        row = self.row_of(self.cursor)
        if row < top:
            self.scroll_to(y=row, animate=False)
        elif row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False)
        self.refresh()

    def on_focus(self) -> None:
        if not self.cursor:
            self.cursor = self.seq_at(self.rows - 1)
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_move(self, step: int) -> None:
        self.cursor = self.seq_at(min(self.rows - 1, max(0, self.row_of(self.cursor) + step)))

    def action_show(self) -> None:
        if self.cursor:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        seq = self.seq_at(event.y + self.scroll_offset.y)
        if seq:
            self.cursor = seq
            self.post_message(self.Chosen(seq))


class EventPane(Vertical):
    """The lines under their heading and the line for a filter."""

    class Filtered(Message):
        """The person wants only what matches."""

        def __init__(self, wanted: Filter) -> None:
            super().__init__()
            self.wanted = wanted

    DEFAULT_CSS = """
    EventPane { width: 54; height: 1fr; background: $surface; padding: 1 0 0 0; }
    EventPane > .heading { height: 1; padding: 0 1; color: $text-muted; }
    EventPane > Input { border: none; background: $surface; height: 1; padding: 0 1; margin-bottom: 1; }
    EventPane > Input:focus { border: none; background-tint: transparent; background: $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines = EventLines()
        self.heading = Static(Content("Events"), classes="heading", markup=False)
        self.input = Input(placeholder="filter: kinds or words (tool error)", select_on_focus=True)
        self.input.cursor_blink = False
        self.scanned = 0

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.input
        yield self.lines

    def reset(self, last: int) -> None:
        """Another conversation's log, `last` events long; the filter stays."""
        self.lines.reset(last)
        self.scanned = last
        self.count()
        if self.lines.wanted:
            self.post_message(self.Filtered(self.lines.wanted))

    # --- what the desk says

    def look(self, app: ThetisApp, session: str) -> None:
        """Show this conversation's log."""
        line = app.state.conversations.get(session)
        self.reset(max(line.last_seq if line else 0, app.desk.view.window.last if app.desk.view.session == session else 0))

    def heard(self, app: ThetisApp, event: Event) -> None:
        """One more event."""
        self.lines.grew(event)
        self.count()

    def enter(self) -> None:
        """Take the focus."""
        self.lines.focus()

    def count(self) -> None:
        """Say how many there are."""
        lines = self.lines
        all_of_it = plural(lines.last, "event")
        looking = f" · {self.scanned * 100 // max(1, lines.last)} % searched" if self.scanned < lines.last else ""
        text = f"Log · {lines.rows:,} of {all_of_it}{looking}" if lines.wanted else f"Log · {all_of_it}"
        self.heading.update(Content(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        wanted = parsed(event.value)
        if wanted != self.lines.wanted:
            self.post_message(self.Filtered(wanted))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.lines.focus()

    def on_key(self, event: events.Key) -> None:
        if self.input.has_focus and event.key in ("down", "escape"):
            event.stop()
            event.prevent_default()
            self.lines.focus() if event.key == "down" else self._clear()

    def _clear(self) -> None:
        """Esc: everything again, then back to where one types."""
        if self.input.value:
            self.input.value = ""
        else:
            self.screen.focus_next()
            self.post_message(self.Left())

    class Left(Message):
        """Esc in an empty filter."""
