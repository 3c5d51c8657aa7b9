"""The log beside the transcript: every event a line, read in pages as they come into view.

Owns the cache of lines; asks for pages with messages. A log of 100,000 events costs what is on the screen.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
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
from textual.widgets import Static
from thetis_kernel.protocol.events import Event

from thetis_tui.summary import clock, gist
from thetis_tui.text import cut, plural

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

    def reset(self, last: int) -> None:
        """Another conversation's log, `last` events long."""
        self._pages.clear()
        self._asked.clear()
        self.last = last
        self.set_reactive(EventLines.cursor, 0)
        self.virtual_size = Size(0, last)
        self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def grew(self, event: Event) -> None:
        """A new event at the end (or beyond a gap: the pages between are read when they come into view)."""
        at_end = self.is_vertical_scroll_end
        if event.seq > self.last:
            self.last = event.seq
            self.virtual_size = Size(0, self.last)
        page = self._pages.get((event.seq - 1) // PAGE)
        if page is not None:
            page[event.seq] = _line(event)
        if at_end:
            self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def put(self, after: int, events_: list[Event]) -> None:
        """A page that was asked for."""
        self._asked.discard(after)
        self._pages[after // PAGE] = {event.seq: _line(event) for event in events_}
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        seq = y + self.scroll_offset.y + 1
        style = self.visual_style
        if seq > self.last:
            return Strip.blank(width, style.rich_style)
        index = (seq - 1) // PAGE
        page = self._pages.get(index)
        line = page.get(seq) if page is not None else None
        if line is None:
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
        if self.cursor - 1 < top:
            self.scroll_to(y=self.cursor - 1, animate=False)
        elif self.cursor > top + height:
            self.scroll_to(y=self.cursor - height, animate=False)
        self.refresh()

    def on_focus(self) -> None:
        if not self.cursor:
            self.cursor = self.last
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_move(self, step: int) -> None:
        self.cursor = min(self.last, max(1, self.cursor + step))

    def action_show(self) -> None:
        if self.cursor:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        seq = event.y + self.scroll_offset.y + 1
        if 1 <= seq <= self.last:
            self.cursor = seq
            self.post_message(self.Chosen(seq))


def _line(event: Event) -> tuple[str, str, str]:
    return clock(event.ts_ms), event.kind, gist(event)


class EventPane(Vertical):
    """The lines under their heading."""

    DEFAULT_CSS = """
    EventPane { width: 54; height: 1fr; background: $surface; padding: 1 0 0 0; }
    EventPane > .heading { height: 1; padding: 0 1; margin-bottom: 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines = EventLines()
        self.heading = Static(Content("Events"), classes="heading", markup=False)

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.lines

    def count(self) -> None:
        """Say how many there are."""
        self.heading.update(Content(f"Log · {plural(self.lines.last, 'event')}"))
