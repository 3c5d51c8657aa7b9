"""Commands about what fills a conversation and what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Answer(Command):
    id = "answer"
    title = "Answer what the agent asks"
    help = "Bring up the question that was put off; what you say instead of an answer ends it."
    slash = "answer"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.questions.here())

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.questions.bring_up()


class Compact(Command):
    id = "compact"
    title = "Sum up the conversation"
    help = "Sum up a long conversation's middle for the model; what you said and the newest messages stay, the log keeps all."
    slash = "compact"
    argument = "[what to keep]"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if not app.state.current:
            app.say("There is nothing to sum up yet.")
            return
        await app.ask(app.client.compact(app.state.current, argument.strip()))
        if app.state.turn is not None:
            app.say("The conversation is summed up before the next request.")
