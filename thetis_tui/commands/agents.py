"""Commands about sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Agents(Command):
    id = "agents"
    title = "Show the sub-agents"
    help = "How each stands, with keys to open, steer and stop it; in a sub-agent it goes back to whom it belongs to."
    keys = "f6"
    slash = "agents"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        conversation = app.state.conversation
        if conversation is not None and conversation.parent:
            await app.desk.open(conversation.parent)
            return
        from thetis_tui.screens.agents import AgentsScreen

        chosen = await app.answer(AgentsScreen(app.state.current))
        if chosen:
            await app.desk.open(chosen)
