"""Which terminals there are, a line each on the line API: how it stands, whose it is, what runs or ran in it.

Must not know what is done about them: keys go to the pane around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget
from thetis_kernel.protocol.terminals import TerminalLine

from thetis_tui.sanitise import one_line
from thetis_tui.text import cut

if TYPE_CHECKING:
    from thetis_tui.widgets.terminalspane import TerminalsPane

_MOST_LISTED = 6
_LETTERS = {"n": "new", "x": "close"}


class TerminalList(Widget, can_focus=True):
    """A terminal a line: how it stands, whose it is, what runs or ran in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("enter", "pane('enter')", "Type into it", show=False),
        Binding("pageup", "pane('back')", "Further back", show=False),
        Binding("pagedown", "pane('forth')", "Nearer", show=False),
        Binding("end", "pane('end')", "To the end", show=False),
    ]
    DEFAULT_CSS = """
    TerminalList { height: auto; min-height: 1; max-height: 6; margin-bottom: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[TerminalLine] = []
        self.chosen = ""

    @property
    def _pane(self) -> TerminalsPane:
        return cast("TerminalsPane", self.parent)

    @property
    def at(self) -> int:
        """The row of the terminal that is looked at."""
        return next((row for row, line in enumerate(self.lines) if line.id == self.chosen), 0)

    def show(self, lines: list[TerminalLine], current: str) -> None:
        """List these."""
        if (lines, current) != (self.lines, self.chosen):
            resized = len(lines) != len(self.lines)
            self.lines, self.chosen = lines, current
            self.refresh(layout=resized)

    def get_content_height(self, *_: object) -> int:
        return min(len(self.lines), _MOST_LISTED)

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.visual_style
        row = y + max(0, self.at - _MOST_LISTED + 1)
        if row >= len(self.lines):
            return Strip.blank(width, style.rich_style)
        if row == self.at:
            style += self._get_style("on $block-cursor-background" if self.has_focus else "on $block-cursor-blurred-background")
        strip = Visual.to_strips(self, line_of(self.lines[row], width), width, 1, style, apply_selection=False)[0]
        return strip.extend_cell_length(width, style.rich_style)

    def on_key(self, event: events.Key) -> None:
        """Letters that mean something here; all others land in the prompt, as everywhere."""
        what = _LETTERS.get(event.key)
        if what is not None:
            event.stop()
            event.prevent_default()
            self._pane.do(what)

    def action_move(self, step: int) -> None:
        if self.lines:
            self._pane.choose(self.lines[min(len(self.lines) - 1, max(0, self.at + step))].id)

    def action_pane(self, what: str) -> None:
        self._pane.do(what)

    def on_click(self, event: events.Click) -> None:
        row = event.y + max(0, self.at - _MOST_LISTED + 1)
        if row < len(self.lines):
            self._pane.choose(self.lines[row].id)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


def line_of(line: TerminalLine, width: int) -> Content:
    """One terminal in `width` cells."""
    if line.running:
        sign, how = ("●", "$text-success"), _since(line.since_ms)
    elif line.exit_code is None:
        sign, how = ("○", "$text-disabled"), "idle"
    else:
        sign = ("✓", "$text-success") if line.exit_code == 0 else ("✗", "$text-error")
        how = f"exit {line.exit_code}" + (f" · {line.left} go on" if line.left else "")
    whose = "yours" if line.own else one_line(line.name) or "agent"
    right = Content.styled(how, "$text-muted")
    left = Content.assemble(" ", sign, f" {line.id} ", (f"{cut(whose, 16)} ", "$text-accent" if line.own else "$text-muted"))
    command = "shell" if line.own else one_line(line.command)
    middle = Content(cut(command, max(1, width - left.cell_length - right.cell_length - 2)))
    gap = max(1, width - left.cell_length - middle.cell_length - right.cell_length - 1)
    return left + middle + " " * gap + right


def _since(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h"
