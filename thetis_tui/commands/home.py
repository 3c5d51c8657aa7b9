"""Commands about all conversations at once: home, and the quick ways from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

DIGITS = 9
"""Conversations with a key of their own."""


class Home(Command):
    id = "home"
    title = "All conversations"
    help = "Every conversation with how it stands; search, rename, archive, delete from there."
    keys = "f4"
    slash = "home"
    argument = "[words]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.home import HomeScreen

        if not isinstance(app.screen, HomeScreen):
            app.push_screen(HomeScreen(argument))


class Search(Command):
    id = "search"
    title = "Search all conversations"
    help = "Find words in every transcript of this root."
    keys = "f5,ctrl+shift+f"
    slash = "search"
    argument = "[words]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.search import SearchScreen

        hit = await app.answer(SearchScreen(argument))
        if hit is not None:
            await app.desk.open(hit.session, at=hit.seq)


class Back(Command):
    id = "back"
    title = "Conversation looked at before"
    help = "Go back and forth between two conversations with one key."
    keys = "alt+0,f8"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.before() is not None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        before = app.state.before()
        if before is not None:
            await app.desk.open(before)


class Nth(Command):
    id = "nth"
    title = "Conversation by its place in the list"
    help = "alt+1 is the first below “New conversation”, alt+9 the ninth."
    keys = "alt+1…9"
    in_palette = False

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.conversations)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        listed = app.state.listed()
        if argument.isdigit() and 1 <= int(argument) <= len(listed):
            await app.desk.open(listed[int(argument) - 1].id)

    def bindings(self) -> list[Binding]:
        return [
            Binding(f"alt+{n}", f"command('nth', '{n}')", self.title, show=False, id=f"thetis.nth-{n}")
            for n in range(1, DIGITS + 1)
        ]
