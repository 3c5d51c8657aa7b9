"""Who is let in, and what is for us: one judgement for every kind of event, by numeric ids alone, before anything else.

No role, name, server or channel gives a right. Must not know conversations beyond whether there is one. Called on the library's
thread; it reads what does not change, and `Pairing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from thetis_kernel.config.discord import Discord
from thetis_kernel.connectors.discord.heard import Commanded, Heard, Person, Place, Said
from thetis_kernel.connectors.discord.pairing import Pairing

Verdict = Literal["take", "ignore", "stranger"]
"""take: for us, from somebody who may. ignore: nothing follows. stranger: a person who may not asked us, and is told so."""
FOR_ANYBODY = frozenset({"pair", "whoami", "help"})
"""Commands that tell a stranger how to be let in."""
FOR_ADMINISTRATORS = "pair"
"""With no code, in a private message, it makes one."""


class Admission:
    """`known(key)`: whether there is a conversation of that key."""

    def __init__(self, settings: Discord, pairing: Pairing, known: Callable[[str], bool]) -> None:
        self._allowed = frozenset(settings.allowed_users) | frozenset(settings.admin_users)
        self._administrators = frozenset(settings.admin_users)
        self._everybody = settings.allow_all_users
        self._mention = settings.require_mention
        self._free = frozenset(settings.free_response_channels)
        self._own = settings.own_conversations
        self._pairing = pairing
        self._known = known

    def judge(self, heard: Heard) -> Verdict:
        """What becomes of one event."""
        if not heard.person.human:
            return "ignore"
        if isinstance(heard, Said):
            return "take" if self.allowed(heard.person.id) and heard.text.strip() and self._meant(heard) else "ignore"
        if self.allowed(heard.person.id) or (isinstance(heard, Commanded) and heard.name in FOR_ANYBODY):
            return "take"
        return "stranger"

    def allowed(self, person: int) -> bool:
        """Whether somebody may talk to the agent."""
        return self._everybody or person in self._allowed or self._pairing.knows(person)

    def administers(self, person: int) -> bool:
        """Whether somebody may make pairing codes: by the configuration only, so who was paired lets nobody in."""
        return person in self._administrators

    def key(self, place: Place, person: Person) -> str:
        """The conversation somebody's words in a place belong to."""
        shared = place.kind == "private" or not self._own
        return f"discord:{place.kind}:{place.channel}" + ("" if shared else f":{person.id}")

    def shared(self, place: Place) -> bool:
        """Whether several people write into the conversation of a place."""
        return place.kind != "private" and not self._own

    def _meant(self, said: Said) -> bool:
        if said.place.kind == "private" or said.to_us or not self._mention or said.place.channel in self._free:
            return True
        return said.place.kind == "thread" and self._known(self.key(said.place, said.person))
