"""The line that says there is more below a reader who has scrolled up. Clicking it goes there."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from thetis_tui.text import plural


class Below(Static):
    """Shown while the reader is away from the end; `events` counts what is not even mounted."""

    DEFAULT_CSS = """
    Below {
        display: none; layer: over; dock: bottom; width: auto; height: 1; margin: 0 2; padding: 0 1;
        background: $panel; color: $text-accent;
    }
    Below.-away { display: block; }
    """

    class Wanted(Message):
        """The reader wants to be at the end."""

    away: reactive[bool] = reactive(False, toggle_class="-away")
    events: reactive[int] = reactive(0)

    def __init__(self) -> None:
        super().__init__(Content(""), markup=False)

    def watch_away(self) -> None:
        self._say()

    def watch_events(self) -> None:
        self._say()

    def _say(self) -> None:
        more = f"{plural(self.events, 'newer event')}, " if self.events else ""
        self.update(Content(f"↓ {more}ctrl+end to follow"))

    def on_click(self) -> None:
        self.post_message(self.Wanted())
