"""Skills as workers and clients ask for them.

The best few are named to the agent once, by the conversation's first words, and stand in the log: the prompt stays the same
whatever happens to the directories. What was read is remembered by its digest, so the same text is not told twice unasked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused, RepoError, UsageError
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.skills import keeping
from thetis_kernel.gateway.skills.sources import gather, person_directory, persons
from thetis_kernel.gateway.trust import TrustedTree
from thetis_kernel.protocol.events import StateChanged, SystemNote
from thetis_kernel.protocol.skills import (
    SCOPE,
    Card,
    FindSkills,
    Problem,
    ReadSkill,
    SkillList,
    SkillText,
    SkillWritten,
    WriteSkill,
)
from thetis_kernel.skills.ranking import best
from thetis_kernel.skills.reading import Catalogue, Found, read_file
from thetis_kernel.store.folds import SessionState

NAMED = 4
"""Skills named to the agent by the first words, besides the universal ones."""
MAX_UNIVERSAL = 20
MAX_FOUND = 50
OFFERED, USED = "offered", "used:"
ATTACHED = "The person attached the skill {name} to this conversation. Follow it where it fits.\n\n{text}"


class Skills:
    """The skills of one root. `trusted`: what the checkout brings, when a person trusts it; `more`: [paths] skills."""

    def __init__(self, log: Log, bodies: Bodies, modes: Modes, trusted: TrustedTree | None, more: list[str]) -> None:
        self._log = log
        self._bodies = bodies
        self._modes = modes
        self._trusted = trusted
        self._more = persons(more)

    def asks(self, session: str) -> dict[type[Any], Callable[[Any], Any]]:
        """The handlers for one conversation's worker."""
        return {
            ReadSkill: lambda ask: self.read(session, ask),
            FindSkills: lambda ask: self.find(session, ask),
            WriteSkill: lambda ask: self.write(session, ask, by="agent"),
        }

    async def offer(self, session: str) -> None:
        """Choose the skills that are named to the agent, unless that was done."""
        state = await self._log.state(session)
        if OFFERED in state.values.get(SCOPE, {}):
            return
        cards = [found.card for found in (await self._catalogue(session, state)).skills.values()]
        chosen = [card for card in cards if card.universal][:MAX_UNIVERSAL]
        chosen += best([card for card in cards if not card.universal], state.last_user_text, NAMED)
        if not chosen:
            return  # other words may fit one, another time
        told = [{"name": card.name, "brief": card.brief, "when_to_use": card.when_to_use} for card in chosen]
        await self._log.append(session, StateChanged(scope=SCOPE, key=OFFERED, value=msgspec.json.encode(told).decode()))

    async def all(self, session: str = "") -> SkillList:
        """Every skill by name, and what is wrong with those that cannot be used."""
        found = await self._catalogue(session, await self._log.state(session) if session else None)
        return SkillList([found.skills[name].card for name in sorted(found.skills)], found.problems)

    async def find(self, session: str, ask: FindSkills) -> SkillList:
        """Skills that fit the words, best first; all of them by name without any."""
        limit = min(max(ask.limit, 1), MAX_FOUND)
        everything = await self.all(session)
        cards = best(everything.cards, ask.query, limit) if ask.query.strip() else everything.cards[:limit]
        return SkillList(cards, [problem for problem in everything.problems if problem.fatal])

    async def show(self, session: str, name: str) -> SkillText:
        """A skill's text for a person."""
        state = await self._log.state(session) if session else None
        found = _named(await self._catalogue(session, state), name)
        return SkillText(found.card, found.text)

    async def read(self, session: str, ask: ReadSkill) -> SkillText:
        """A skill's text, or that of a file beside it; remembered by its digest. Raises ThetisError `not-found`."""
        state = await self._log.state(session)
        found = _named(await self._catalogue(session, state), ask.name)
        if ask.file:
            return SkillText(found.card, await asyncio.to_thread(read_file, found, ask.file), ask.file)
        if state.values.get(SCOPE, {}).get(USED + found.card.name) == _json(found.card.digest):
            return SkillText(found.card, found.text if ask.again else "", known=True)
        await self._remember(session, found.card)
        return SkillText(found.card, found.text)

    async def write(self, session: str, ask: WriteSkill, *, by: str) -> SkillWritten:
        """Keep a skill. Raises Refused in a read-only mode, whatever the worker let through."""
        if self._modes.get((await self._log.state(session)).mode).read_only:
            raise Refused("This conversation is in a read-only mode: no skill is written by any route.", capability="devkit",
                          hint="A person can switch the mode.")
        return await keeping.keep(self._bodies, self._log, session, ask, by, person_directory())

    async def attach(self, session: str, name: str) -> Card:
        """A person gives a skill to the agent. Raises UsageError when it has exactly this text already."""
        state = await self._log.state(session)
        found = _named(await self._catalogue(session, state), name)
        if state.values.get(SCOPE, {}).get(USED + found.card.name) == _json(found.card.digest):
            raise UsageError(f"The agent has read the skill {name} in this conversation.", hint="It has not changed since.")
        await self._log.append(session, SystemNote(text=ATTACHED.format(name=name, text=found.text), about="skill"))
        await self._remember(session, found.card)
        return found.card

    async def _remember(self, session: str, card: Card) -> None:
        await self._log.append(session, StateChanged(scope=SCOPE, key=USED + card.name, value=_json(card.digest)))

    async def _catalogue(self, session: str, state: SessionState | None) -> Catalogue:
        own: Path | None = None
        unread: list[Problem] = []
        if state is not None and any(c.commit and c.target.startswith(keeping.TARGET) for _, c in state.modifications):
            base = next((c.commit for _, c in reversed(state.modifications) if c.commit), "")
            try:
                own = await self._bodies.repository.ensure(session, base)
            except RepoError as error:  # the other skills are there all the same
                unread = [Problem("", 0, f"The skills this conversation wrote cannot be read: {error}")]
        found = await asyncio.to_thread(gather, own, self._trusted, self._more)
        return Catalogue(found.skills, [*found.problems, *unread])


def _named(catalogue: Catalogue, name: str) -> Found:
    found = catalogue.skills.get(name)
    if found is None:
        near = ", ".join(card.name for card in best([f.card for f in catalogue.skills.values()], name, 5))
        raise UsageError(f"There is no skill {name[:60]!r}.", code="not-found",
                         hint=f"Perhaps: {near}." if near else f"There are: {', '.join(sorted(catalogue.skills)[:20])}.")
    return found


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()
