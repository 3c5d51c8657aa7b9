"""Commands about which conversation one looks at and what it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command
from thetis_tui.state import NEW

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class NewConversation(Command):
    id = "new"
    title = "New conversation"
    help = "Begin a new conversation; its branch is made by the first message."
    keys = "ctrl+n"
    slash = "new"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        await app.desk.open(NEW)
        app.refresh_status()
        if argument:
            app.desk.prompt.put(argument)


class Switch(Command):
    id = "switch"
    title = "Go to conversation…"
    help = "Pick a conversation by typing a part of its title."
    keys = "ctrl+g"
    slash = "go"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.conversations)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from textual.command import CommandPalette

        from thetis_tui.commands.palette import ConversationProvider

        app.push_screen(CommandPalette(providers=[ConversationProvider], placeholder="Go to…"))


class _Step(Command):
    step = 1

    def applies(self, app: ThetisApp) -> bool:
        return len(app.state.listed()) > 1 or (not app.state.current and bool(app.state.conversations))

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        ids = [NEW, *(c.id for c in app.state.listed())]
        at = ids.index(app.state.current) if app.state.current in ids else 0
        await app.desk.open(ids[(at + self.step) % len(ids)])


class NextConversation(_Step):
    id = "next"
    title = "Next conversation"
    help = "Open the conversation below in the list."
    keys = "ctrl+pagedown"


class PreviousConversation(_Step):
    id = "previous"
    title = "Previous conversation"
    help = "Open the conversation above in the list."
    keys = "ctrl+pageup"
    step = -1


class Mode(Command):
    id = "mode"
    title = "Change mode"
    help = "Switch between the modes; in a read-only one nothing can be changed by any route."
    keys = "shift+tab"
    slash = "mode"
    argument = "[name]"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.next_mode() is not None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        modes = app.state.status.modes if app.state.status else []
        wanted = next((m for m in modes if m.id == argument), None) if argument else app.state.next_mode()
        if wanted is None:
            app.say(f"There is no mode {argument}.", hint="Modes: " + ", ".join(m.id for m in modes), level="warn")
            return
        if app.state.current:
            await app.ask(app.client.set(app.state.current, "mode", wanted.id))
        else:
            app.state.new_mode = wanted.id
        app.refresh_views()


class Model(Command):
    id = "model"
    title = "Change model…"
    help = "Pick the model that answers from the next turn on; thinking and pictures of another one are taken along as it can."
    slash = "model"
    argument = "[id]"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.status is not None and len(app.state.status.models) > 1

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.models import ModelsScreen

        models = app.state.status.models if app.state.status else []
        now = app.state.model()
        wanted = argument.strip() or await app.answer(ModelsScreen(models, now.id if now else ""))
        if not wanted:
            return
        if wanted not in {model.id for model in models}:
            app.say(f"There is no model {wanted}.", hint="/model shows the list.", level="warn")
        elif app.state.current:
            await app.ask(app.client.set(app.state.current, "model", wanted))
        else:
            app.state.new_model = wanted
        app.refresh_views()


class Network(Command):
    id = "network"
    title = "Switch the network of commands on or off"
    help = "Let the commands of this conversation use the network, from the next turn on; for this conversation alone."
    slash = "network"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.conversation is not None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        conversation = app.state.conversation
        if conversation is None:
            return
        on = argument.strip() == "on" if argument.strip() in ("on", "off") else not conversation.network
        await app.ask(app.client.set(conversation.id, "network", "true" if on else "false"))
        what = "may use the network" if on else "have no network"
        app.say(f"Commands of this conversation {what} from the next turn on.", level="warn" if on else "info")
        app.refresh_views()
