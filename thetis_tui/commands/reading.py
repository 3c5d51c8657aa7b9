"""Commands for reading a conversation: find, go from block to block, copy one, open the file it is about."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command
from thetis_tui.text import plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp
    from thetis_tui.widgets.rows.base import Row


class Find(Command):
    id = "find"
    title = "Find in this conversation"
    help = "Look for words in all of its log; Enter and up go to the place before, down to the one after, Esc ends it."
    keys = "ctrl+f"
    slash = "find"
    argument = "[words]"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.desk.find.start(argument)


class _StepBlock(Command):
    by = -1
    turns = False

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.widgets.rows.base import Row
        from thetis_tui.widgets.rows.texts import UserRow

        transcript = app.desk.view.transcript
        row = transcript.step(self.by, UserRow if self.turns else Row)
        if row is not None:
            transcript.choose(row)
            transcript.reveal(row)
        elif self.by > 0:
            transcript.choose(None)
            await app.desk.view.to_end()


class BlockAbove(_StepBlock):
    id = "block-above"
    title = "Block above"
    help = "Mark the block above: ctrl+o folds it, alt+c copies it, alt+o opens its file; Esc lets it go."
    keys = "alt+up"


class BlockBelow(_StepBlock):
    id = "block-below"
    title = "Block below"
    help = "Mark the block below; after the last one, follow the end again."
    keys = "alt+down"
    by = 1


class MessageAbove(_StepBlock):
    id = "message-above"
    title = "My message above"
    help = "Jump to what you said before."
    keys = "alt+pageup"
    turns = True


class MessageBelow(_StepBlock):
    id = "message-below"
    title = "My message below"
    help = "Jump to what you said next; after the last one, follow the end again."
    keys = "alt+pagedown"
    turns = True
    by = 1


def _row(app: ThetisApp) -> Row | None:
    """The marked block, or the last reply."""
    from thetis_tui.widgets.rows.texts import ProseRow

    transcript = app.desk.view.transcript
    if transcript.chosen is not None:
        return transcript.chosen
    return next((row for row in reversed(list(transcript.query_children(ProseRow)))), None)


class CopyBlock(Command):
    id = "copy"
    title = "Copy the block"
    help = "Put the marked block, or the last reply, into the clipboard as it was written (through the terminal, OSC 52)."
    keys = "alt+c"
    slash = "copy"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        row = _row(app)
        text = row.source() if row is not None else ""
        if not text:
            app.say("There is nothing to copy yet.", level="warn")
            return
        app.copy_to_clipboard(text)
        app.say(f"Copied {plural(text.count(chr(10)) + 1, 'line')}.")


class OpenFile(Command):
    id = "open-file"
    title = "Open the file in my editor"
    help = "Open the file the marked block names, at its line, from the conversation's worktree, in $VISUAL or $EDITOR."
    keys = "alt+o"
    slash = "open"
    argument = "[path[:line]]"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        import asyncio

        from thetis_tui.editing import command, edit, place_in

        conversation, status = app.state.conversation, app.state.status
        roots = [root for root in (getattr(conversation, "worktree", ""), status.root if status else "") if root]
        row = _row(app)
        text = argument or (row.source() if row is not None else "")
        place = await asyncio.to_thread(place_in, text, roots)
        if place is None:
            app.say("No file is named there." if not argument else f"There is no file {argument}.",
                    hint="alt+up marks the block that names one; or /open path:line.", level="warn")
            return
        await edit(app, command(os.environ, *place))
