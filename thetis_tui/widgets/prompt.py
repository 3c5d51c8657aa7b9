"""Where the person types. Enter sends, everything typed or pasted lands literally.

Owns keys that mean something while typing; what they do is said with messages. Must not know what is done with them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import TextArea
from thetis_kernel.protocol.cutting import boundary

from thetis_tui.attachments import pasted
from thetis_tui.chips import Chips
from thetis_tui.sanitise import visible

_PASSED = frozenset({"f6", "f7"})
"""Keys a text area selects with, which are for commands here."""
NEWLINE_KEYS = frozenset({"shift+enter", "ctrl+j", "alt+enter"})
_SCROLL = {
    "pageup": "page_up", "pagedown": "page_down", "ctrl+home": "home", "ctrl+end": "end",
    "ctrl+up": "up", "ctrl+down": "down",
}


class Prompt(TextArea):
    """A text area that grows with its text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+enter,ctrl+j,alt+enter", "newline", "New line", show=False, id="prompt.newline"),
    ]

    class Sent(Message):
        """Enter was pressed on `text` (which may be empty), with `completion` marked if there was one.

        The prompt is empty already: what is typed next stays.
        """

        def __init__(self, text: str, completion: str) -> None:
            super().__init__()
            self.text = text
            self.completion = completion

    class Later(Message):
        """Tab was pressed on `text` while it would wait. The prompt is empty already."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Walked(Message):
        """The person wants the text sent before (`step` -1) or after (+1)."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Scrolled(Message):
        """The person wants the transcript to move: page_up, page_down, home, end, up, down."""

        def __init__(self, how: str) -> None:
            super().__init__()
            self.how = how

    class Completed(Message):
        """Tab, an arrow or Esc in a list of completions: take, next, previous, close."""

        def __init__(self, how: str) -> None:
            super().__init__()
            self.how = how

    class Pressed(Message):
        """A key with a meaning of its own in an empty prompt: help, quit, example, recall."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    _styled = False
    """Whether the text area's theme fits the styles as they are."""

    def __init__(self) -> None:
        super().__init__(
            "", soft_wrap=True, show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False,
            compact=True, id="prompt",
        )
        self._own_keys = dict(self._bindings.key_to_bindings)
        self.yields(())
        self.cursor_blink = False
        self.chips = Chips()
        self.completion = ""
        """The completion Tab or Enter would take; "" when none is offered."""
        self.queues = False
        """Whether Tab puts what is typed into the queue."""
        self.recalls = False
        """Whether Up in an empty prompt takes the last message out of the queue."""
        self.example = ""
        """The example that stands in the prompt untouched, if one does."""
        self.typed_at = float("-inf")
        """When a key was last pressed here, on the monotonic clock."""

    def notify_style_update(self) -> None:
        self._styled = False
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """As the text area's, which works its theme out anew for every drawing: a third of what a key costs here."""
        if self._styled:
            return ScrollView.render_lines(self, crop)
        self._styled = True
        return super().render_lines(crop)

    def put(self, text: str) -> None:
        """Replace the text, cursor at its end; can be undone. A large text stands as a chip."""
        self.replace(self.chips.fold(text), (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        self.typed_at = time.monotonic()
        if self._take(event) or await self._edit(event.key):
            event.stop()
            event.prevent_default()

    def yields(self, keys: Iterable[str]) -> None:
        """These keys are commands': the text area, which has uses of its own for some, lets them pass."""
        mine = self._own_keys
        passed = _PASSED.union(keys)
        self._bindings.key_to_bindings = {key: found for key, found in mine.items() if key not in passed}

    async def _edit(self, key: str) -> bool:
        """Run the text area's own binding of `key` now.

        Left to bubble, a binding runs only after the keys behind it have been inserted: Backspace and a letter that
        arrive together would change places.
        """
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def _take(self, event: events.Key) -> bool:
        """Whether the key means something of its own here."""
        key = event.key
        blank = not self.text
        if key == "enter" and self.completion.startswith("@"):
            self.post_message(self.Completed("take"))
        elif key == "escape" and self.completion:
            self.post_message(self.Completed("close"))
        elif key == "enter":
            self.post_message(self.Sent(self.chips.unfold(self.text), self.completion))
            self.put("")
        elif key in NEWLINE_KEYS:
            self.action_newline()
        elif key == "tab" and self.completion:
            self.post_message(self.Completed("take"))
        elif key == "tab" and (blank or self.text == self.example):
            self.post_message(self.Pressed("example"))
        elif key == "tab" and self.queues:
            self.post_message(self.Later(self.chips.unfold(self.text)))
            self.put("")
        elif key in ("up", "down") and self.completion:
            self.post_message(self.Completed("previous" if key == "up" else "next"))
        elif key == "up" and blank and self.recalls:
            self.post_message(self.Pressed("recall"))
        elif key == "up" and self.cursor_at_first_line and self.selection.is_empty:
            self.post_message(self.Walked(-1))
        elif key == "down" and self.cursor_at_last_line and self.selection.is_empty:
            self.post_message(self.Walked(1))
        elif key in _SCROLL:
            self.post_message(self.Scrolled(_SCROLL[key]))
        elif key == "ctrl+d" and blank:
            self.post_message(self.Pressed("quit"))
        elif event.character == "?" and blank:
            self.post_message(self.Pressed("help"))
        else:
            return False
        return True

    def get_cursor_left_location(self) -> tuple[int, int]:
        """One visible character to the left: an emoji of several code points is passed, or deleted, whole."""
        row, column = self.cursor_location
        if column == 0:
            return super().get_cursor_left_location()
        return row, boundary(self.document.get_line(row), column - 1)

    def get_cursor_right_location(self) -> tuple[int, int]:
        """One visible character to the right."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column >= len(line):
            return super().get_cursor_right_location()
        end = column + 1
        while end < len(line) and boundary(line, end) != end:
            end += 1
        return row, end

    def action_newline(self) -> None:
        """A line break where the cursor is."""
        start, end = self.selection
        self._replace_via_keyboard("\n", start, end)

    async def _on_paste(self, event: events.Paste) -> None:
        """Pasted text stands as it is: line ends as newlines, control characters visible, nothing is run.

        A large one stands as a chip; what is sent is all of it. So does the path of a picture or PDF, as terminals paste it
        when one is dropped on them.
        """
        event.stop()
        event.prevent_default()
        text = visible(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        files = await asyncio.to_thread(pasted, event.text)  # a path may lie on a disk that is asleep
        folded = " ".join(map(self.chips.file, files)) + " " if files else self.chips.fold(text)
        result = self._replace_via_keyboard(folded, *self.selection)
        if result is not None:
            self.move_cursor(result.end_location)
        self.focus()
