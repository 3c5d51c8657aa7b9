"""The last line: what is in use and how it stands, as much of it as fits, most important first."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from thetis_tui.state import StatusView
from thetis_tui.text import cut

_NOTICE = 44
"""Cells of a model's notice here; the page of an empty conversation says all of it."""
_FULL = 60
"""Percent of a model's window from which its share is coloured, as on the page of the context."""
_WALLS = {"bubblewrap": "walled", "landlock": "walled (landlock)", "none": "no walls"}
_STATES = {
    "interrupted": ("interrupted", "$text-warning"),
    "parked": ("parked", "$text-error"),
    "damaged": ("damaged", "$text-error"),
}
_LINKS = {
    "connecting": ("starting…", "$text-muted"),
    "failed": ("not started", "$text-error"),
    "reconnecting": ("reconnecting…", "$text-warning"),
}


class StatusBar(Widget):
    """Parts from the left, key hints at the right when there is room for all of them."""

    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 2; color: $text-muted; text-wrap: nowrap; text-overflow: clip; }
    """

    view: reactive[StatusView] = reactive(StatusView())
    tokens: reactive[str] = reactive("")
    hints: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        width = self.size.width
        line = Content()
        for text, style in self.parts():
            gap = 3 if line else 0
            room = width - line.cell_length - gap
            if room < 4:
                break
            line += Content.styled(" · " if line else "", "$text-disabled") + Content.styled(cut(text, room), style)
        right = self.hints
        if right and line.cell_length + len(right) + 2 <= width:
            line += Content(" " * (width - line.cell_length - len(right))) + Content.styled(right, "$text-disabled")
        return line

    def parts(self) -> list[tuple[str, str]]:
        """(text, style), most important first."""
        view = self.view
        out: list[tuple[str, str]] = []
        if view.link in _LINKS:
            out.append(_LINKS[view.link])
        if view.state in _STATES:
            out.append(_STATES[view.state])
        if view.safe:
            out.append(("safe mode", "$text-warning"))
        if view.mode:
            out.append((f"{view.mode}, read-only", "$text-warning") if view.read_only
                       else (f"{view.mode}s first" if view.mode == "Ask" else view.mode, "$text-accent") if view.asks
                       else (view.mode, "$text"))
        if view.notice:
            out.append((cut(view.notice, _NOTICE), "$text-warning"))
        elif view.model:
            out.append((view.model, "$text-muted"))
        if view.walls:
            out.append((_WALLS.get(view.walls, view.walls), "$text-muted" if view.walled else "$text-warning"))
        if view.network:
            out.append(("network on", "$text-warning"))
        if view.branch and self.screen.has_class("-short"):  # elsewhere the heading says it
            out.append((view.branch, "$text-muted"))
        if view.filled >= 0:
            out.append((f"context {view.filled} %", "$text-warning" if view.filled >= _FULL else "$text-muted"))
        if self.tokens:
            out.append((self.tokens, "$text-muted"))
        return out
