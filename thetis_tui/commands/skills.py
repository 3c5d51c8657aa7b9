"""Skills at the prompt: `/skill NAME` gives one to the agent, `/skill` lets one pick."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits
from textual.content import Content
from textual.markup import escape
from thetis_kernel.protocol.skills import Card

from thetis_tui.commands.base import Command
from thetis_tui.sanitise import one_line

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Skill(Command):
    id = "skill"
    title = "Attach a skill…"
    help = "Give the agent a skill of yours, of this checkout or of Thetis: a short text on how to do one kind of work."
    slash = "skill"
    argument = "[name]"

    def applies(self, app: ThetisApp) -> bool:
        return app.state.conversation is not None

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        if app.state.conversation is None:
            app.say("A skill is attached to a conversation; say something first.", level="warn")
            return
        name = argument.strip()
        if name:
            card = await app.ask(app.client.attach_skill(app.state.current, name))
            app.say(f"The agent has the skill {one_line(card.name)}.")
            return
        found = await app.ask(app.client.skills(app.state.current))
        app.push_screen(CommandPalette(providers=[_providing(found.cards)], placeholder="Attach a skill…"))


def _providing(cards: list[Card]) -> Any:
    """A source of the palette that offers these skills."""
    from thetis_tui.commands.palette import _Source  # late: it lists all commands, this one among them

    class SkillProvider(_Source):
        """Skills by name and by what they are for."""

        # The palette reads what it shows below a name as markup, and a brief is anybody's text.
        shown: ClassVar[list[tuple[str, str]]] = [(one_line(card.name), escape(one_line(card.brief))) for card in cards]

        async def discover(self) -> Hits:
            for name, brief in self.shown:
                yield DiscoveryHit(Content(name), self._attach(name), text=name, help=brief)

        async def search(self, query: str) -> Hits:
            matcher = self.matcher(query)
            for name, brief in self.shown:
                score = max(matcher.match(name), matcher.match(brief))
                if score > 0:
                    yield Hit(score, Content(name), self._attach(name), text=name, help=brief)

        def _attach(self, name: str) -> Any:
            return partial(self.thetis.perform, Skill.id, name)

    return SkillProvider
