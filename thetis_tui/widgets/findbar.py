"""The line for words looked for in the open conversation, above the prompt.

Must not know where they are looked for: it says what was typed and which way to go, and is told how many there are.
"""

from __future__ import annotations

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static


class FindBar(Horizontal):
    """Hidden until `start`."""

    DEFAULT_CSS = """
    FindBar { height: 1; padding: 0 2; display: none; background: $surface; }
    FindBar.-shown { display: block; }
    FindBar > .mark { width: auto; color: $text-accent; }
    FindBar > .tally { width: auto; color: $text-muted; padding-left: 2; }
    FindBar Input { border: none; background: transparent; height: 1; padding: 0; width: 1fr; }
    FindBar Input:focus { border: none; background-tint: transparent; }
    """

    class Changed(Message):
        """Other words are looked for; "" none."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Stepped(Message):
        """The person wants the place before (older, -1) or after (+1)."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Closed(Message):
        """No more looking."""

    def __init__(self) -> None:
        super().__init__()
        self.input = Input(placeholder="find in this conversation", select_on_focus=True)
        self.input.cursor_blink = False
        self._tally = Static(Content(""), classes="tally", markup=False)

    def compose(self) -> ComposeResult:
        yield Static(Content("⌕ "), classes="mark", markup=False)
        yield self.input
        yield self._tally

    def start(self, words: str = "") -> None:
        """Show the line, to type in."""
        self.add_class("-shown")
        if words:
            self.input.value = words
        self.input.focus()

    def stop(self) -> None:
        """Hide the line; the words are kept for the next time."""
        self.remove_class("-shown")
        self.tell("")

    def tell(self, text: str) -> None:
        """Say how many places there are."""
        self._tally.update(Content(text))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Stepped(-1))

    def on_key(self, event: events.Key) -> None:
        step = {"up": -1, "down": 1, "shift+enter": 1, "ctrl+f": -1}.get(event.key, 0)
        if step or event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Stepped(step) if step else self.Closed())
