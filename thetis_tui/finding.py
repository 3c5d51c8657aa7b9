"""Words looked for in the open conversation: all of its log is searched, not what is mounted; the places are walked one by one.

Owns which places there are and which one is shown. Must not know how the line for the words looks.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError

from thetis_tui.text import plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

MOST = 500
_PAUSE = 0.12
"""Seconds after a key before the log is searched."""


class Finding:
    """`look` for words, `step` through the places (newest first), `end` it."""

    def __init__(self, app: ThetisApp) -> None:
        self._app = app
        self._session = ""
        self._words = ""
        self.places: list[int] = []
        self.at = -1

    async def look(self, words: str) -> None:
        """Find `words` in the open conversation and show the newest place."""
        app, desk = self._app, self._app.desk
        self._session, self._words = app.state.current, words.strip()
        self.places, self.at = [], -1
        desk.view.transcript.point_out(self._words)
        desk.find.tell("")
        if not self._words or not self._session:
            return
        await asyncio.sleep(_PAUSE)
        hits = await app.ask(app.client.search(self._words, MOST, self._session))
        self.places = sorted({hit.seq for hit in hits}, reverse=True)
        if self.places:
            await self.step(-1)
        else:
            desk.find.tell("nothing found")

    async def step(self, by: int) -> None:
        """Show the next older (-1) or newer (+1) place; round at the ends."""
        desk = self._app.desk
        if self._session != self._app.state.current:
            await self.look(self._words)
            return
        if not self.places:
            return
        self.at = (self.at - by) % len(self.places)
        more = "+" if len(self.places) >= MOST else ""
        desk.find.tell(f"{self.at + 1} of {len(self.places)}{more}")
        await desk.view.show(self.places[self.at])
        desk.view.transcript.point_out(self._words)

    def end(self) -> None:
        """Nothing is looked for any more; the reader stays where they are."""
        self.places, self.at = [], -1
        self._app.desk.view.transcript.point_out("")

    async def again(self, words: str, by: int = 0) -> None:
        """As `look`, or `step` when nothing new is looked for; errors are said."""
        try:
            await (self.step(by) if by else self.look(words))
        except ThetisError as error:
            self._app.desk.find.tell(plural(0, "place"))
            self._app.fail(error)
