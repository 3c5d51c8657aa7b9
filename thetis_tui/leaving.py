"""The way out: asks first while turns would be stopped by it, and takes the question back when they are over.

Must not know what the dialog looks like, nor how the program ends.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from textual.screen import Screen

from thetis_tui.views import title_of

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_CHANGED = "changed"


class Leaving:
    """`ask` says whether to go now; `look` is called whenever what runs may have changed.

    `detach`: what runs is to run on when the screen has gone.
    """

    def __init__(self, app: ThetisApp) -> None:
        self.detach = False
        self._app = app
        self._open: tuple[Screen[str], list[str]] | None = None

    async def ask(self) -> bool:
        """Whether to leave now. Stops what runs if the person says so; raises what stopping raises."""
        from thetis_tui.screens.dialog import leave_dialog

        app, answer = self._app, ""
        while answer not in ("stop", "detach") and (live := self._live()):
            dialog = leave_dialog([title_of(app.state.conversations[session]) for session in live])
            self._open = dialog, live
            try:
                answer = await app.answer(dialog)
            finally:
                self._open = None
            if answer == _CHANGED and not self._live():
                # The person has not said that they want to go although nothing holds them.
                app.say("Nothing is running any more. ctrl+q quits.")
                return False
            if not answer:
                return False
        if answer == "detach":
            self.detach = True
            return True
        await asyncio.gather(*(app.ask(app.client.stop(session)) for session in self._live()))
        return True

    def look(self) -> None:
        """Ask anew when the question is about other turns than those that run now."""
        if self._open is not None:
            dialog, asked = self._open
            if asked != self._live() and self._app.screen is dialog:
                self._open = None
                dialog.dismiss(_CHANGED)

    def _live(self) -> list[str]:
        """Conversations whose turns end with this program: those of a gateway in another process do not."""
        state = self._app.state
        own = state.status is None or state.status.pid in (0, os.getpid())
        return [conversation.id for conversation in state.running()] if state.link == "ready" and own else []
