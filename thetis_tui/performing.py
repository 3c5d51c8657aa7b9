"""How a command is run: from a key, the palette, a line in the prompt, or a list, on the open conversation or another.

Must not know what any command does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from textual import work
from textual.screen import Screen
from thetis_kernel.errors import ThetisError

from thetis_tui.commands import BY_ID
from thetis_tui.commands.keeping import OnConversation

if TYPE_CHECKING:
    from textual.app import App

    from thetis_tui.app import ThetisApp

    _Base = App[int]
else:
    _Base = object

T = TypeVar("T")


class Performing(_Base):
    """Mixed into the app."""

    @property
    def _thetis(self) -> ThetisApp:
        return cast("ThetisApp", self)

    @work(group="commands")
    async def perform(self, command_id: str, argument: str = "") -> None:
        """Run a command; its errors are said."""
        try:
            await BY_ID[command_id].run(self._thetis, argument)
        except ThetisError as error:
            self._thetis.fail(error)

    @work(group="commands")
    async def perform_on(self, session: str, command_id: str) -> None:
        """Run a command on a conversation that need not be the open one; its errors are said."""
        app, command = self._thetis, BY_ID[command_id]
        conversation = app.state.conversations.get(session)
        try:
            if conversation is not None and isinstance(command, OnConversation):
                await command.run_on(app, conversation)
            elif conversation is not None:
                await app.desk.open(session)
                await command.run(app)
        except ThetisError as error:
            app.fail(error)
        app.refresh_views()

    async def answer(self, screen: Screen[T]) -> T:
        """Put a question over the desk and wait for the answer."""
        return await self.push_screen_wait(screen)

    def show(self, session: str, *, at: int = 0) -> None:
        """Open a conversation (from a list), at event `at` if one is given."""
        self._open(session, at)

    @work(group="commands")
    async def _open(self, session: str, at: int = 0) -> None:
        try:
            await self._thetis.desk.open(session, at=at)
        except ThetisError as error:
            self._thetis.fail(error)
