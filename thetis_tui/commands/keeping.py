"""Commands about what a conversation is called and whether it is kept: each works on the open one, or on any from home."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import Conversation

from thetis_tui.commands.base import Command
from thetis_tui.state import NEW
from thetis_tui.text import plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class OnConversation(Command):
    """A command that can be performed on a conversation that is not the open one."""

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    def applies_to(self, app: ThetisApp, conversation: Conversation) -> bool:
        """Whether it makes sense for `conversation` now."""
        return True

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if app.state.conversation is not None:
            await self.run_on(app, app.state.conversation, argument)

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        """Do it to `conversation`. Errors of the tree may pass: the app says them."""
        raise TypeError(f"{type(self).__name__} does nothing")


class Title(OnConversation):
    id = "title"
    title = "Rename conversation…"
    help = "Give the conversation another title."
    slash = "title"
    argument = "[title]"

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        from thetis_tui.screens.ask import AskScreen

        if not argument:
            answer = await app.answer(AskScreen("Rename conversation", conversation.title))
            argument = answer or ""
        if argument.strip():
            await app.ask(app.client.set(conversation.id, "title", argument.strip()))


class Archive(OnConversation):
    id = "archive"
    title = "Archive conversation"
    help = "Take the conversation out of the list (or back into it); its log and branch stay, and search finds it."
    slash = "archive"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current) and app.state.turn is None

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        if conversation.id in app.state.turns:
            app.say("A turn is running there.", hint="Stop it first, then archive.", level="warn")
            return
        away = not conversation.archived
        await app.ask(app.client.set(conversation.id, "archived", "true" if away else "false"))
        if away and conversation.id == app.state.current:
            await app.desk.open(NEW)
        app.say("Archived. Search still finds it." if away else "Back in the list.")


class Delete(OnConversation):
    id = "delete"
    title = "Delete conversation…"
    help = "Remove its log for good; it is said first what would be lost. Its branch stays."
    slash = "delete"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current) and app.state.turn is None

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        from thetis_tui.screens.dialog import delete_dialog
        from thetis_tui.views import title_of

        if conversation.id in app.state.turns:
            app.say("A turn is running there.", hint="Stop it first, then delete.", level="warn")
            return
        words = await loss(app, conversation)
        if not await app.answer(delete_dialog(title_of(conversation), words)):
            return
        await app.ask(app.client.delete(conversation.id))
        app.state.forget(conversation.id)
        await app.desk.forget(conversation.id)
        kept = f" Its branch {conversation.branch} is still there." if conversation.branch else ""
        app.say(f"Deleted.{kept}")


async def loss(app: ThetisApp, conversation: Conversation) -> str:
    """What deleting a conversation would lose, and what would stay, as sentences."""
    lost = [f"Lost for good: the log of {plural(conversation.last_seq, 'event')}, with everything that was said and done in it."]
    if conversation.asking:
        lost.append(f"{plural(conversation.asking, 'request')} for your consent would go unanswered.")
    if not conversation.branch:
        return "\n\n".join([*lost, "It has no branch yet."])
    try:
        async with asyncio.timeout(5):
            diff = await app.ask(app.client.diff(conversation.id))
    except (ThetisError, TimeoutError):
        return "\n\n".join([*lost, f"Kept: its branch {conversation.branch}."])
    files = len(diff.files)
    added, removed = sum(f[1] for f in diff.files), sum(f[2] for f in diff.files)
    held = f" with {plural(files, 'changed file')} (+{added} -{removed})" if files else ", which has no changes"
    lost.append(f"Kept: its branch {conversation.branch}{held}. `git branch -D {conversation.branch}` removes that too.")
    return "\n\n".join(lost)
