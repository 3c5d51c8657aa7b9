"""The commands people have in Discord, and what each answers. There is none that changes a mode.

A command is answered to whoever gave it alone. Must not know the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thetis_kernel.connectors.discord.admission import FOR_ADMINISTRATORS, FOR_ANYBODY, Admission
from thetis_kernel.connectors.discord.heard import Commanded
from thetis_kernel.connectors.discord.pairing import LENGTH, Pairing
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.protocol.spending import spent_words

if TYPE_CHECKING:
    from thetis_kernel.connectors.discord.service import Connector

NAMES = {
    "new": "Begin another conversation here; the one until now is kept",
    "stop": "Stop what runs",
    "status": "How the conversation here stands",
    "model": "Which model answers here, or have another one answer",
    "models": "The models there are",
    "pair": "Be let in with a code",
    "whoami": "Your id, which an administrator can let in",
    "help": "What can be done here",
}
ARGUMENTS = {"model": "The id of a model", "pair": "The code an administrator gave you"}
CHAT_INPUT, STRING = 1, 3
GUILD_INSTALL, GUILD, BOT_DM = 0, 0, 1
NOTHING = "There is no conversation here yet. Say something to begin one."
STRANGER = "You may not talk to this bot yet. Ask its administrator for a pairing code, then /pair it; /whoami tells your id."


def registered() -> list[dict[str, Any]]:
    """The commands as Discord is told of them: for servers the bot was added to, there and in private messages to it."""
    return [{"name": name, "description": description, "type": CHAT_INPUT, "integration_types": [GUILD_INSTALL],
             "contexts": [GUILD, BOT_DM],
             "options": [{"name": "value", "description": ARGUMENTS[name], "type": STRING, "required": False}]
             if name in ARGUMENTS else []}
            for name, description in NAMES.items()]


class Commands:
    """Answers commands; whoever may not was sent away before, except from those for anybody."""

    def __init__(self, connector: Connector, admission: Admission, pairing: Pairing) -> None:
        self._connector = connector
        self._admission = admission
        self._pairing = pairing

    async def answer(self, given: Commanded) -> str:
        """Do it; the words for whoever gave it. Raises what the gateway raises."""
        person = given.person.id
        if given.name in FOR_ANYBODY:
            return self._for_anybody(given)
        if not self._admission.allowed(person):
            return STRANGER
        key = self._admission.key(given.place, given.person)
        talk = self._connector.memory.talk(key)
        client = await self._connector.client()
        if given.name == "models":
            status = await client.status(walls=False)
            return "\n".join(f"`{clean_line(model.id)}` {clean_line(model.label)}" for model in status.models)[:1900]
        if talk is None:
            return NOTHING
        if given.name == "new":
            await client.stop(talk.session)
            self._connector.forget(key)
            return "The next words here begin another conversation."
        if given.name == "stop":
            return "Stopped." if await client.stop(talk.session) else "Nothing runs here."
        line = await client.conversation(talk.session)
        if given.name == "model":
            if given.argument.strip():
                await client.set(talk.session, "model", given.argument.strip())
                return f"From the next turn on `{clean_line(given.argument)[:80]}` answers here."
            return f"`{clean_line(line.model)}` answers here. /models lists the others."
        if given.name == "status":
            spent = f", {spent_words(line.spent)}" if spent_words(line.spent) else ""
            return f"Conversation {short(line.id)}, {line.state}, read-only (mode {line.mode}), model {line.model}{spent}."
        return f"There is no command {clean_line(given.name)[:40]!r}. /help lists them."

    def _for_anybody(self, given: Commanded) -> str:
        person = given.person.id
        if given.name == "whoami":
            let_in = "You may talk to this bot." if self._admission.allowed(person) else "You may not talk to this bot yet."
            return f"Your id is {person}. {let_in}"
        if given.name == "help":
            return "\n".join(["Everything here is read-only: I look at the project and answer, I change nothing.",
                              *(f"/{name}: {what}." for name, what in NAMES.items())])
        code = given.argument.strip()
        if code:
            return ("You are let in until the connector is restarted." if self._pairing.use(person, code) else
                    "This code is not good: it was used, is too old, or there were too many wrong ones.")
        if not self._admission.administers(person):
            return f"Name the code of {LENGTH} characters an administrator gave you."
        if given.place.kind != "private":
            return f"/{FOR_ADMINISTRATORS} makes a code in a private message to me only."
        return f"Give this code to one person: {self._pairing.issue()}. They say /pair with it."
