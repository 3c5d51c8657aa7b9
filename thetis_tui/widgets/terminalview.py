"""One terminal's screen on the line API: cells with colours and a cursor, and every key but one for the program in it.

Owns how cells are drawn and what is typed. Must not know which terminal it is, nor where keys go: it says so in messages.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from thetis_kernel.protocol.terminals import Cells, Shown

from thetis_tui.keybytes import LEAVE, key_bytes, pasted
from thetis_tui.sanitise import cells as safe

_WHEEL = 3
_NAMES = {"brown": "yellow", "brightbrown": "bright_yellow", "bfightmagenta": "bright_magenta"}
"""Colours whose name in the emulation is not the one here."""


class TerminalView(Widget, can_focus=True):
    """`takes_every_key`: the app hands over keys of its own too while this has the focus."""

    takes_every_key = True
    DEFAULT_CSS = """
    TerminalView { height: 1fr; background: $background; color: $text; margin: 0 1; }
    """

    class Typed(Message):
        """Bytes for the program."""

        def __init__(self, data: bytes) -> None:
            super().__init__()
            self.data = data

    class Scrolled(Message):
        """Look `by` lines further back, or nearer when it is negative."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Fitted(Message):
        """There is room for another number of cells."""

    class Left(Message):
        """The person has left the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: Shown | None = None

    def show(self, shown: Shown | None) -> None:
        """Draw this screen from now on."""
        if shown != self.shown:
            self.shown = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width, style, shown = self.size.width, self.visual_style.rich_style, self.shown
        if shown is None or y >= len(shown.rows):
            return Strip.blank(width, style)
        strip = Strip([Segment(safe(part.text), style + look(part)) for part in shown.rows[y]])
        strip = strip.adjust_cell_length(width, style)
        if shown.cursor is not None and shown.cursor[0] == y and shown.cursor[1] < width:
            column = shown.cursor[1]
            before, cursor, after = strip.crop(0, column), strip.crop(column, column + 1), strip.crop(column + 1, width)
            mark = Style(reverse=True) if self.has_focus else Style(underline=True)
            strip = Strip.join([before, Strip([Segment(s.text, (s.style or style) + mark) for s in cursor]), after])
        return strip

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    # --- what a person does

    async def _on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == LEAVE:
            self.post_message(self.Left())
        elif event.key in ("shift+pageup", "shift+pagedown"):
            by = max(1, self.size.height - 1)
            self.post_message(self.Scrolled(by if event.key == "shift+pageup" else -by))
        elif data := key_bytes(event.key, event.character, self.shown is not None and self.shown.application_keys):
            self.post_message(self.Typed(data))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Typed(pasted(event.text, self.shown is not None and self.shown.paste)))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.post_message(self.Scrolled(_WHEEL))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.post_message(self.Scrolled(-_WHEEL))

    def on_resize(self) -> None:
        self.post_message(self.Fitted())

    def on_focus(self) -> None:
        self.refresh()
        self.post_message(self.Fitted())

    def on_blur(self) -> None:
        self.refresh()


@lru_cache(maxsize=2048)
def look(part: Cells) -> Style:
    """How a stretch of cells is drawn, beside what the pane looks like."""
    return _style(part.fg, part.bg, part.style)


@lru_cache(maxsize=2048)
def _style(fg: str, bg: str, style: int) -> Style:
    return Style(
        color=_colour(fg), bgcolor=_colour(bg), bold=bool(style & 1) or None, italic=bool(style & 2) or None,
        underline=bool(style & 4) or None, strike=bool(style & 8) or None, reverse=bool(style & 16) or None)


def _colour(name: str) -> str | None:
    """A colour's name or rrggbb as Rich writes it; what is neither is none: it comes from a stranger."""
    if not name:
        return None
    if len(name) == 6 and all(sign in "0123456789abcdefABCDEF" for sign in name):
        return f"#{name}"
    known = _NAMES.get(name, f"bright_{name.removeprefix('bright')}" if name.startswith("bright") else name)
    return known if known.removeprefix("bright_") in _ANSI else None


_ANSI = frozenset(("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"))
