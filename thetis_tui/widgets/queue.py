"""What waits to be said, above the prompt. Must not know where it waits or when it is said."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from thetis_tui.sanitise import one_line
from thetis_tui.text import cut

SHOWN = 3
"""Messages shown; of the others one sees how many there are."""


@dataclass(frozen=True, slots=True)
class Item:
    """A message that waits. `id` "" while it is on its way to the gateway."""

    id: str
    text: str


class QueueStrip(Static):
    """A line a message, the next one first."""

    DEFAULT_CSS = """
    QueueStrip {
        height: auto; padding: 0 2 0 1; margin: 0 1; display: none; text-wrap: nowrap; text-overflow: ellipsis;
        border-left: outer $secondary;
    }
    QueueStrip.-shown { display: block; }
    """

    class Chosen(Message):
        """A message was clicked, to be changed."""

        def __init__(self, identifier: str) -> None:
            super().__init__()
            self.id = identifier

    def __init__(self) -> None:
        super().__init__(Content(""), markup=False)
        self.items: tuple[Item, ...] = ()
        self._held = False
        self._first = 0

    def show(self, items: tuple[Item, ...], held: bool) -> None:
        """Show what waits; `held` means until the person says so, else for the running turn to end."""
        if (items, held) == (self.items, self._held):
            return
        self.items, self._held = items, held
        self.set_class(bool(items), "-shown")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        shown = SHOWN if self.app.size.height >= 14 else 1
        width = max(12, self.size.width)
        lines = []
        for number, item in enumerate(self.items[:shown], 1):
            mark = Content.styled(f"{number} ", "$text-secondary" if item.id else "$text-disabled")
            lines.append(mark + Content.styled(cut(one_line(item.text), width - 2), "$text-muted"))
        if lines:
            lines[-1] = self._with_tail(lines[-1], len(self.items) - shown, width)
        self.update(Content("\n").join(lines))

    def _with_tail(self, line: Content, more: int, width: int) -> Content:
        """The last line, with what becomes of the messages at its end: as much of that as leaves the words room."""
        count = f"+{more} more · " if more > 0 else ""
        when = "waits for you" if self._held else "said when the turn ends"
        tails = [f"{count}{when} · ↑ edits the last", f"{count}↑ edits"]
        tail = next((one for one in tails if line.cell_length + len(one) + 3 <= width), tails[-1])
        room = width - len(tail) - 3
        if line.cell_length > room and room < width // 2:
            return line
        line = line.truncate(room, ellipsis=True) if line.cell_length > room else line
        return line.pad_right(width - line.cell_length - len(tail)) + Content.styled(tail, "$text-disabled")

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < min(len(self.items), SHOWN) and self.items[event.y].id:
            self.post_message(self.Chosen(self.items[event.y].id))
