"""The palette's sources: the commands that apply now, and the conversations by title."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from thetis_tui.commands import ALL, Command
from thetis_tui.sanitise import one_line
from thetis_tui.text import cut

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


MOST = 104
"""Cells of the palette, as in the style sheet, and the part of the screen it takes."""
_SHARE = 0.84
_TITLE = 34
"""Cells of the column of titles."""


class _Source(Provider):
    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    def line(self, title: Content, help: str, right: str) -> Content:
        """An entry on one line: its title, as much of the help as fits, at the right its key."""
        room = min(MOST, int(self.app.size.width * _SHARE)) - 7
        title = title.truncate(max(8, room - cell_len(right) - 2), ellipsis=True)
        middle = room - max(_TITLE, title.cell_length + 2) - cell_len(right) - 2
        if middle >= 12:
            title = title.pad_right(max(0, _TITLE - 2 - title.cell_length)) + "  "
            title += Content.styled(cut(help, middle), "$text-muted")
        tone = "$text-muted" if self.app.current_theme.ansi else "$text-secondary"  # blue on the cursor's blue
        return title.pad_right(max(1, room - title.cell_length - cell_len(right))) + Content.styled(right, tone)


class CommandProvider(_Source):
    """Commands by title."""

    async def discover(self) -> Hits:
        for command in ALL:
            if command.in_palette and command.applies(self.thetis):
                do = partial(self.thetis.perform, command.id)
                yield DiscoveryHit(self._line(command, Content(command.title)), do, text=command.title)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in ALL:
            score = max(matcher.match(command.title), matcher.match(f"/{command.slash}") if command.slash else 0)
            if score > 0 and command.in_palette and command.applies(self.thetis):
                do = partial(self.thetis.perform, command.id)
                yield Hit(score, self._line(command, matcher.highlight(command.title)), do, text=command.title)

    def _line(self, command: Command, title: Content) -> Content:
        right = self.thetis.appearance.names_of(command).partition(", ")[0] or (f"/{command.slash}" if command.slash else "")
        return self.line(title, command.help, right)


class ConversationProvider(_Source):
    """Conversations by title and branch."""

    async def discover(self) -> Hits:
        for session, title, branch in self._titles():
            yield DiscoveryHit(self.line(Content(title), "", branch), partial(self.thetis.show, session), text=title)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for session, title, branch in self._titles():
            score = max(matcher.match(title), matcher.match(branch))
            if score > 0:
                do = partial(self.thetis.show, session)
                # Not matcher.highlight: it reads the title, which is anybody's, as markup.
                yield Hit(score, self.line(Content(title), "", branch), do, text=title)

    def _titles(self) -> list[tuple[str, str, str]]:
        return [(c.id, one_line(c.title) or "Untitled", one_line(c.branch)) for c in self.thetis.state.listed()]
