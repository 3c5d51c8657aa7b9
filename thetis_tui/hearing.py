"""What the app does about what the desk's widgets say: words were sent, a conversation was picked, a suggestion taken.

Must not know how they are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on

from thetis_tui.logs import Logs
from thetis_tui.state import NEW
from thetis_tui.widgets.agents import AgentsStrip
from thetis_tui.widgets.composer import Offer
from thetis_tui.widgets.conversation import ConversationView
from thetis_tui.widgets.prompt import Prompt
from thetis_tui.widgets.sidebar import Sidebar
from thetis_tui.widgets.welcome import Choice

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Hearing(Logs):
    """Mixed into the app."""

    @property
    def _me(self) -> ThetisApp:
        return cast("ThetisApp", self)

    def action_help(self) -> None:
        """F1 on any page."""
        self._me.perform("help")

    @on(Prompt.Sent)
    def _entered(self, event: Prompt.Sent) -> None:
        self._me.speech.say(event.text, event.completion)

    @on(Prompt.Pressed)
    def _pressed(self, event: Prompt.Pressed) -> None:
        if event.what == "example":
            self._me.desk.next_example()
        else:
            self._me.perform(event.what)

    @on(Offer.Toggled)
    def _toggled(self) -> None:
        self._me.perform("include")

    @on(Sidebar.Chosen)
    def _chosen(self, event: Sidebar.Chosen) -> None:
        self._me.perform("new") if event.session == NEW else self._me.show(event.session)

    @on(AgentsStrip.Chosen)
    def _of_agent(self, event: AgentsStrip.Chosen) -> None:
        self._me.show(event.child)

    @on(Choice.Chosen)
    def _suggested(self, event: Choice.Chosen) -> None:
        if event.session:
            self._me.show(event.session)
        else:
            self._me.desk.prompt.put(event.text)
            self._me.desk.prompt.focus()

    @on(ConversationView.Failed)
    def _failed(self, event: ConversationView.Failed) -> None:
        self._me.fail(event.error)
