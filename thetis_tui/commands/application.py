"""Commands about the program itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Help(Command):
    id = "help"
    title = "Help"
    help = "Show every command and key, those of the page you are on first; ? in an empty prompt does the same."
    keys = "f1"
    slash = "help"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.help import HelpScreen, keys_of

        if isinstance(app.screen, HelpScreen):
            return
        here = [] if app.screen is app.desk else keys_of(app.screen, app.focused)
        app.push_screen(HelpScreen(lambda command: command.applies(app), here, app.appearance.names_of))


class Retry(Command):
    id = "retry"
    title = "Connect again"
    help = "Try once more to reach the gateway."
    keys = "ctrl+r"
    slash = "retry"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.link in ("failed", "reconnecting")

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.connect_again()


class Quit(Command):
    id = "quit"
    title = "Quit"
    help = "Leave; with running turns it asks first. Ctrl+C twice and Ctrl+D in an empty prompt do the same."
    keys = "ctrl+q"
    slash = "quit"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        await app.leave()
