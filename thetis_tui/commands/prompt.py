"""Commands about what is being typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class EditPrompt(Command):
    id = "edit"
    title = "Edit the prompt in my editor"
    help = "Write the message in $VISUAL or $EDITOR; what is saved there stands in the prompt."
    keys = "alt+e"
    slash = "edit"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.editing import edited

        prompt = app.desk.prompt
        text = await edited(app, prompt.chips.unfold(prompt.text))
        prompt.put(text)
        prompt.focus()


class InsertFile(Command):
    id = "mention"
    title = "Name a file"
    help = "Put an @ into the prompt: a few letters of a name find the file, Tab or Enter takes it."
    keys = "alt+f"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        prompt = app.desk.prompt
        app.desk.to_prompt()
        prompt.insert("@" if not prompt.text or prompt.text[-1:].isspace() else " @")
