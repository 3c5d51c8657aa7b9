"""Commands about what was: going back to earlier words with the files, taking that back, going on from there elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.timemachine import Rewound

from thetis_tui.commands.base import Command
from thetis_tui.commands.keeping import OnConversation
from thetis_tui.text import plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Rewind(Command):
    id = "rewind"
    title = "Go back to earlier words…"
    help = "Choose words you said; the conversation, its files, or both go back to right before them. /undo takes it back."
    slash = "rewind"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current) and app.state.turn is None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.dialog import rewind_dialog
        from thetis_tui.screens.moments import MomentsScreen

        session = app.state.current
        moments = await app.ask(app.client.moments(session))
        if not moments:
            app.say("Nothing was said here yet.")
            return
        seq = await app.answer(MomentsScreen("Go back to right before…", moments, int(time.time() * 1000)))
        if not seq:
            return
        words = next(moment.text for moment in moments if moment.seq == seq)
        what = await app.answer(rewind_dialog(words))
        if what == "fork":
            made = await app.ask(app.client.fork(session, seq))
            await _open(app, made.session, made.text)
        elif what != "":
            done = await app.ask(app.client.rewind(session, seq, what))
            if done.text:
                app.desk.give_back(done.text)
            _tell(app, done, "Went back. /undo takes it back.")


class UndoRewind(Command):
    id = "undo"
    title = "Take the last rewind back"
    help = "Conversation and files stand again where they were before going back; until something new is said."
    slash = "undo"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current) and app.state.turn is None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        _tell(app, await app.ask(app.client.undo_rewind(app.state.current)), "As it was before.")


class Fork(OnConversation):
    id = "fork"
    title = "Fork conversation"
    help = "A new conversation with all of this one and its files; this one stays as it is. /rewind forks from earlier words."
    slash = "fork"

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        if conversation.id in app.state.turns:
            app.say("A turn is running there.", hint="Stop it first, or fork from earlier words with /rewind.", level="warn")
            return
        made = await app.ask(app.client.fork(conversation.id))
        await _open(app, made.session, "")


async def _open(app: ThetisApp, session: str, text: str) -> None:
    app.state.replace(await app.ask(app.client.conversations()))
    await app.desk.open(session)
    if text:
        app.desk.give_back(text)
    app.say("This is the fork; the other one is as it was.")


def _tell(app: ThetisApp, done: Rewound, words: str) -> None:
    changed = done.written + done.removed
    files = f" {plural(changed, 'path')} of the worktree changed." if done.files else " No file had to change."
    app.say(words + files)
    for sentence in done.kept[:3]:
        app.say(f"Left as it is: {sentence}", level="warn")
