"""The command about what a conversation runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Itself(Command):
    id = "itself"
    title = "What it made of itself"
    help = "Every revision of its agent, renderer and tools: what changed, who and why; back to any with one key, pin, edit."
    keys = "f9"
    slash = "self"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.conversation is not None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.itself import ItselfScreen

        if not isinstance(app.screen, ItselfScreen):
            app.push_screen(ItselfScreen(app.state.current))
