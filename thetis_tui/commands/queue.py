"""Commands about what waits to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Later(Command):
    id = "later"
    title = "Queue what is typed"
    help = "Say it when the running turn has ended by itself; Tab does the same while a turn runs."
    slash = "later"
    argument = "[text]"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.queues_apply()

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        prompt = app.desk.prompt
        text = argument or prompt.chips.unfold(prompt.text)
        if not argument:
            prompt.put("")
        app.speech.later(text)


class RecallQueued(Command):
    id = "recall"
    title = "Edit the last queued message"
    help = "Take it out of the queue into the prompt: Tab puts it back in its place, Enter sends it now. Up in an empty prompt."
    slash = "recall"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.speech.queued())

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        await app.speech.recall_queued(argument)


class SayQueued(Command):
    id = "say"
    title = "Say the next queued message"
    help = "Go on with what waits after a stop; Enter in an empty prompt does the same."
    slash = "say"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.turn is None and bool(app.state.queues.of(app.state.current))

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if not await app.ask(app.client.say_queued(app.state.current)):
            app.say("Nothing waits, or a turn is running.")
