"""The sub-agents at work, above the prompt: a line each, its clock running. Must not know where they run."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from thetis_tui.agents import Agent, label_width, line

SHOWN = 8
"""Lines shown; of the others one sees how many there are."""
_TICK = 1.0


class AgentsStrip(Static):
    """A line a sub-agent; clicking one opens it."""

    DEFAULT_CSS = """
    AgentsStrip {
        height: auto; padding: 0 2 0 1; margin: 0 1; display: none; text-wrap: nowrap; text-overflow: ellipsis;
        border-left: outer $accent;
    }
    AgentsStrip.-shown { display: block; }
    """

    class Chosen(Message):
        """A sub-agent was clicked."""

        def __init__(self, child: str) -> None:
            super().__init__()
            self.child = child

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(Content(""), markup=False)
        self.agents: tuple[Agent, ...] = ()
        self._now = now
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        self._timer = self.set_interval(_TICK, self._draw, pause=True)

    def show(self, agents: tuple[Agent, ...]) -> None:
        """Show those that are at work; none hides."""
        if agents == self.agents:
            return
        self.agents = agents
        self.set_class(bool(agents), "-shown")
        if self._timer is not None:
            if agents:
                self._timer.resume()
            else:
                self._timer.pause()
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _room(self) -> int:
        height = self.app.size.height
        return SHOWN if height >= 30 else 3 if height >= 14 else 1

    def _draw(self) -> None:
        width, shown = max(12, self.size.width), self.agents[: self._room()]
        lines = [line(agent, width, self._now(), labels=label_width(shown)) for agent in shown]
        more = len(self.agents) - len(shown)
        hint = f"+{more} more · f6 shows all" if more > 0 else "f6 opens, steers and stops them"
        lines.append(Content.styled(hint, "$text-disabled"))
        self.update(Content("\n").join(lines))

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < min(len(self.agents), self._room()):
            self.post_message(self.Chosen(self.agents[event.y].child))
