"""The commands about settings and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Preferences(Command):
    id = "settings"
    title = "Settings"
    help = "Every setting with where it comes from: find them by words, change them, put them back; comments in the files stay."
    keys = "f12"
    slash = "settings"
    argument = "[words]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.settings import SettingsScreen

        if not isinstance(app.screen, SettingsScreen):
            app.push_screen(SettingsScreen(argument))


class Keys(Command):
    id = "keys"
    title = "Keys of my own"
    help = "Give commands other keys: pick one, press the key. They stand under [screen.keys] in your configuration."
    slash = "keys"
    argument = "[words]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        app.perform("settings", f"keys {argument}".strip())
