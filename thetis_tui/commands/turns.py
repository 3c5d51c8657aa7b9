"""Commands about the running turn and what the next message takes along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Stop(Command):
    id = "stop"
    title = "Stop the turn"
    help = "Stop what runs in this conversation, at once; what was done stays. Words not sent yet come back."
    keys = "escape"
    slash = "stop"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.turn is not None or app.speech.holds()

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if app.speech.holds():
            app.speech.recall()
        turn = app.state.turn
        if turn is not None:
            turn.stopping = True
            app.refresh_views()
            await app.ask(app.client.stop(app.state.current))


class Resume(Command):
    id = "resume"
    title = "Resume the interrupted turn"
    help = "Go on with a turn that was cut short; Enter in an empty prompt does the same."
    keys = "ctrl+r"
    slash = "resume"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.conversation is not None and app.state.conversation.state == "interrupted"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if not await app.ask(app.client.resume(app.state.current)):
            app.say("There is nothing to resume.")


class IncludeChanges(Command):
    id = "include"
    title = "Include uncommitted changes"
    help = "Take the root's uncommitted changes into the new branch, or leave them out (as is the default)."
    keys = "ctrl+t"
    slash = "include"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.may_include_changes()

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.state.with_changes = not app.state.with_changes
        app.refresh_views()
