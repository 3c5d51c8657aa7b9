"""The sub-agents of the open conversation: how each stands, with a key to open it and one to stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from thetis_kernel.errors import ThetisError

from thetis_tui.agents import Agent, agents_of, label_width, line
from thetis_tui.text import cut
from thetis_tui.widgets.frames import titled

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_LOOK = 1.0
"""Seconds between two looks while the list is open."""


class AgentsScreen(ModalScreen[str]):
    """Dismisses with the id of the sub-agent to open, or ""."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f6", "dismiss('')", "Close", show=False),
        Binding("s,x", "stop", "Stop it", show=False),
    ]
    DEFAULT_CSS = """
    AgentsScreen { align: center top; background: $background 70%; }
    AgentsScreen > Vertical {
        width: 92%; max-width: 120; height: auto; max-height: 80%; margin-top: 2; background: $background; border: round $border;
        border-title-color: $text-accent; border-subtitle-color: $text-muted; padding: 0 1;
    }
    AgentsScreen.-short > Vertical { margin-top: 0; max-height: 100%; width: 100%; border: none; }
    AgentsScreen Static { color: $text-muted; padding: 0 1; height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
    AgentsScreen OptionList {
        border: none; background: transparent; height: auto; max-height: 100%; padding: 0; margin-top: 1;
        scrollbar-size-vertical: 1;
    }
    AgentsScreen OptionList > .option-list--option { padding: 0 1; }
    AgentsScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    AgentsScreen OptionList:focus { border: none; background-tint: transparent; }
    """

    def __init__(self, session: str) -> None:
        super().__init__()
        self._session = session
        self.agents: tuple[Agent, ...] = ()

    @property
    def _thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    def compose(self) -> ComposeResult:
        with titled(Vertical(), "Sub-agents", "enter opens and steers · s stops · esc closes"):
            yield Static(Content("Looking…"), markup=False)
            yield OptionList()

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self.set_interval(_LOOK, self._look)
        self._look()

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        app = self._thetis
        try:
            found = await app.ask(app.client.children(self._session))
        except ThetisError as error:
            self.query_one(Static).update(Content(cut(error.message, self.size.width)))
            return
        self.agents = agents_of(sorted(found, key=lambda one: one.state != "running"), app.state.now())
        self._draw()

    def _draw(self) -> None:
        live = sum(agent.state == "running" for agent in self.agents)
        note = f"{live} at work, {len(self.agents) - live} settled" if self.agents else "None were begun here."
        self.query_one(Static).update(Content(note))
        options = self.query_one(OptionList)
        width, now = max(16, options.size.width - 3), self._thetis.state.now()
        labels = label_width(self.agents)
        marked = options.highlighted_option.id if options.highlighted_option else None
        ids = [agent.child for agent in self.agents]
        if [option.id for option in options.options] == ids:
            for agent in self.agents:
                options.replace_option_prompt(agent.child, line(agent, width, now, labels=labels))
            return
        options.clear_options()
        options.add_options(Option(line(agent, width, now, labels=labels), id=agent.child) for agent in self.agents)
        options.highlighted = (ids.index(marked) if marked in ids else 0) if ids else None

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id or "")

    @work(group="stop")
    async def action_stop(self) -> None:
        """Stop the marked one."""
        app, marked = self._thetis, self.query_one(OptionList).highlighted_option
        agent = next((one for one in self.agents if marked is not None and one.child == marked.id), None)
        if agent is None or agent.state != "running":
            return
        try:
            await app.ask(app.client.stop_child(self._session, agent.child))
        except ThetisError as error:
            app.fail(error)
        self._look()
