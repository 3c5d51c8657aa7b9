"""The palette's sources: the commands that apply now, and the conversations by title."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from thetis_tui.commands import ALL
from thetis_tui.sanitise import one_line

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class _Source(Provider):
    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)


class CommandProvider(_Source):
    """Commands by title."""

    async def discover(self) -> Hits:
        for command in ALL:
            if command.in_palette and command.applies(self.thetis):
                shown = Content.assemble(command.title, (f"  {command.key_names}", "$text-disabled"))
                do = partial(self.thetis.perform, command.id)
                yield DiscoveryHit(shown, do, text=command.title, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in ALL:
            score = matcher.match(command.title)
            if score > 0 and command.in_palette and command.applies(self.thetis):
                do = partial(self.thetis.perform, command.id)
                yield Hit(score, matcher.highlight(command.title), do, text=command.title, help=command.help)


class ConversationProvider(_Source):
    """Conversations by title and branch."""

    async def discover(self) -> Hits:
        for session, title, branch in self._titles():
            yield DiscoveryHit(Content(title), partial(self.thetis.show, session), text=title, help=branch)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for session, title, branch in self._titles():
            score = max(matcher.match(title), matcher.match(branch))
            if score > 0:
                do = partial(self.thetis.show, session)
                # Not matcher.highlight: it reads the title, which is anybody's, as markup.
                yield Hit(score, Content(title), do, text=title, help=branch)

    def _titles(self) -> list[tuple[str, str, str]]:
        return [(c.id, one_line(c.title) or "Untitled", one_line(c.branch)) for c in self.thetis.state.listed()]
