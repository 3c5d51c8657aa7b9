"""Commands about what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class EventLog(Command):
    id = "log"
    title = "Event log"
    help = "Show or hide the log beside the transcript; words choose kinds and text, Enter on a line shows the event in full."
    keys = "f2"
    slash = "log"
    argument = "[kinds or words]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        desk = app.desk
        await (desk.dock("log") if argument else desk.toggle("log"))
        if argument:
            desk.pane.input.value = argument


class FilterLog(Command):
    id = "filter-log"
    title = "Filter the log"
    help = "Put the cursor into the log's filter: `tool error` shows calls and results that hold “error”; Esc takes it away."
    keys = "shift+f2"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        await app.desk.dock("log")
        app.desk.pane.input.focus()


class Conversations(Command):
    id = "sidebar"
    title = "List of conversations"
    help = "Show or hide the list on the left."
    keys = "ctrl+b"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.desk.toggle_sidebar()


class Diff(Command):
    id = "diff"
    title = "What has changed"
    help = "Show what this conversation has changed against the branch it started from."
    keys = "f3"
    slash = "diff"
    argument = "[file]"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.conversation is not None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.diff import DiffScreen

        diff = await app.ask(app.client.diff(app.state.current))
        app.push_screen(DiffScreen(diff, argument))


class Files(Command):
    id = "files"
    title = "Files changed"
    help = "Show or hide the files this conversation has changed against its trunk, beside the transcript, as they change."
    keys = "alt+d"
    slash = "files"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if await app.desk.toggle("files"):
            app.desk.enter_pane()


class Unfold(Command):
    id = "unfold"
    title = "Unfold or fold"
    help = "Show tool output, thoughts and long texts in full, or fold them again: the marked block, or all of them."
    keys = "ctrl+o"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.widgets.rows.base import FoldRow

        transcript = app.desk.view.transcript
        chosen = transcript.chosen
        if isinstance(chosen, FoldRow):
            chosen.fold(not chosen.unfolded)
        else:
            transcript.unfold_all(not transcript.unfolded)


class ToPrompt(Command):
    id = "prompt"
    title = "Back to the prompt"
    help = "Put the cursor where you type."
    keys = "escape"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.turn is None and not app.speech.holds()

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.desk.view.transcript.choose(None)
        app.desk.to_prompt()


class Theme(Command):
    id = "theme"
    title = "Switch the theme"
    help = "Go to the next theme, or to the named one: dark, light, contrast, ansi. `theme` under [screen] makes it stay."
    slash = "theme"
    argument = "[name]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.themes import THEMES

        names = [theme.name.removeprefix("thetis-") for theme in THEMES]
        wanted = argument.removeprefix("thetis-")
        if wanted and wanted not in names:
            app.say(f"There is no theme {wanted}.", hint="Themes: " + ", ".join(names) + ".", level="warn")
            return
        now = app.theme.removeprefix("thetis-")
        app.theme = f"thetis-{wanted or names[(names.index(now) + 1) % len(names)]}"
