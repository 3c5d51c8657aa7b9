"""Commands about the running turn and what the next message takes along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Stop(Command):
    id = "stop"
    title = "Stop the turn"
    help = "Stop what runs in this conversation, sub-agents too, at once; what was done stays. Words not sent yet come back."
    keys = "escape"
    slash = "stop"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.turn is not None or bool(app.state.agents()) or app.speech.holds()

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if app.speech.holds():
            app.speech.recall()
        turn = app.state.turn
        if turn is not None:
            turn.stopping = True
            app.refresh_views()
        if turn is not None or app.state.agents():
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


class Consent(Command):
    id = "consent"
    title = "Show what waits for my consent"
    help = "Bring up the request that was put off; the turn waits for it."
    keys = "ctrl+l"
    slash = "consent"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.asking() > 0

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.asking.bring_up()


class CarryOut(Command):
    id = "carry"
    title = "Carry out the plan"
    help = "Change to a mode that may change things, and have the plan of this conversation carried out."
    slash = "carry"
    argument = "[mode]"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.may_hand_over()

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        mode = argument.strip() or getattr(app.state.carrying_mode(), "id", "")
        if not app.state.may_hand_over():
            app.say("There is no plan to carry out here.", hint="In the mode plan, ask for one first.", level="warn")
            return
        await app.ask(app.client.hand_over(app.state.current, mode))


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
