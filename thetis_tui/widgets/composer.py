"""The foot of the conversation: sub-agents at work, what waits, what may be included, completions, and the prompt.

Must not know the gateway or what commands do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static, TextArea

from thetis_tui.text import count, cut, duration, plural
from thetis_tui.widgets.agents import AgentsStrip
from thetis_tui.widgets.prompt import Prompt
from thetis_tui.widgets.queue import QueueStrip

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK = 0.125
_COMPLETIONS, _COMPLETIONS_LOW = 8, 5
"""Lines of completions from 30 rows on, and below."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What the running turn is doing. `started` on the monotonic clock; None of it when nothing runs."""

    doing: str = ""
    started: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    stopping: bool = False


class Offer(Static):
    """One line above the first message: the root's uncommitted changes, included or not."""

    DEFAULT_CSS = """
    Offer { height: 1; padding: 0 2; color: $text-muted; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    Offer.-shown { display: block; }
    Offer.-included { color: $text-accent; }
    """

    class Toggled(Message):
        """The person changed their mind about including the changes."""

    def show(self, files: int, included: bool) -> None:
        """Say how many files differ and what will be done with them; nothing when there are none."""
        self.set_class(files > 0, "-shown")
        self.set_class(included, "-included")
        changed = f"{plural(files, 'changed file')}"
        if included:
            self.update(Content(f"☑ {changed} included · ctrl+t leaves them out"))
        else:
            self.update(Content(f"☐ {changed} not included; ctrl+t includes them"))

    def on_click(self) -> None:
        self.post_message(self.Toggled())


class Completions(Static):
    """Commands that begin with what stands in the prompt; the marked one is taken with Tab. What has no room is counted."""

    DEFAULT_CSS = """
    Completions { height: auto; max-height: 9; padding: 0 2; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    Completions.-shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(Content(""), markup=False)
        self.items: list[tuple[str, str]] = []
        self.at = 0

    def show(self, items: list[tuple[str, str]]) -> None:
        """Offer (name, help) pairs; an empty list hides."""
        if items == self.items:
            return  # with every key: nothing is laid out anew for it
        self.items, self.at = items, 0
        self.set_class(bool(items), "-shown")
        self._draw()

    def move(self, step: int) -> None:
        """Mark another one."""
        if self.items:
            self.at = (self.at + step) % len(self.items)
            self._draw()

    @property
    def chosen(self) -> str:
        """The marked one's name, or ""."""
        return self.items[self.at][0] if self.items else ""

    def _draw(self) -> None:
        most = _COMPLETIONS if self.screen.size.height >= 30 else _COMPLETIONS_LOW
        first = max(0, min(self.at - most + 1, len(self.items) - most))
        wide = max((len(name) for name, _ in self.items), default=0)
        lines = []
        for index, (name, text) in list(enumerate(self.items))[first : first + most]:
            mark, style = ("› ", "$text-accent bold") if index == self.at else ("  ", "$text")
            lines.append(Content.assemble((f"{mark}{name:<{wide}}", style), (f"  {text}", "$text-muted")))
        if len(self.items) > most:
            lines.append(Content.styled(f"  {self.at + 1} of {len(self.items)} · ↑↓ move · tab takes", "$text-disabled"))
        self.update(Content("\n").join(lines))


class Composer(Vertical):
    """Sub-agents, what waits, offer, completions and prompt."""

    DEFAULT_CSS = """
    Composer { height: auto; }
    Composer > #prompt-frame {
        height: auto; border: round $border-blurred; border-title-color: $text-accent; border-title-align: left;
        border-subtitle-color: $text-disabled; border-subtitle-align: right; padding: 0 1; margin: 0 1;
        &:focus-within { border: round $border; }
    }
    Composer Prompt {
        height: auto; max-height: 10; min-height: 1; background: transparent; padding: 0; border: none;
        scrollbar-size-vertical: 1;
    }
    """

    activity: reactive[Activity | None] = reactive(None)
    hint: reactive[str] = reactive("")

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self.prompt = Prompt()
        self.offer = Offer(Content(""), markup=False)
        self.completions = Completions()
        self.queue = QueueStrip()
        self.agents = AgentsStrip(now)
        self.frame = Vertical(self.prompt, id="prompt-frame")
        self._clock = now
        self._timer: Timer | None = None
        self._beat = 0

    def compose(self) -> ComposeResult:
        yield self.agents
        yield self.queue
        yield self.offer
        yield self.completions
        yield self.frame

    def on_mount(self) -> None:
        self._timer = self.set_interval(_TICK, self._tick, pause=True)

    def watch_activity(self, activity: Activity | None) -> None:
        if self._timer is not None:
            if activity is None:
                self._timer.pause()
            else:
                self._timer.resume()
        self._title()

    def still(self) -> None:
        """Stop the spinner where it begins (for pictures)."""
        if self._timer is not None:
            self._timer.pause()
        self._beat = 0
        self._title()

    def watch_hint(self, hint: str) -> None:
        self.frame.border_subtitle = Content(hint)

    def _tick(self) -> None:
        self._beat += 1
        self._title()

    def _title(self) -> None:
        activity = self.activity
        if activity is None:
            self.frame.border_title = None
            return
        spin = _SPINNER[self._beat % len(_SPINNER)]
        passed = max(0.0, self._clock() - activity.started)
        elapsed = duration(passed) if passed >= 10 else f"{int(passed)}s"
        tokens = f" · ↓{count(activity.tokens_out)}" if activity.tokens_out else ""
        ending = "stopping…" if activity.stopping else "esc stops"
        room = max(8, self.size.width - 34)
        text = f"{spin} {cut(activity.doing, room)} · {elapsed}{tokens} · {ending}"
        self.frame.border_title = Content(text)

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        if self.prompt.text != self.prompt.example:
            self.prompt.example = ""
