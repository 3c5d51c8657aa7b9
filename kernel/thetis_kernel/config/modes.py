"""The modes of a conversation: what may happen in it, and about what a person is asked first. An id nobody knows is read-only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from thetis_kernel.errors import ConfigError

if TYPE_CHECKING:
    from thetis_kernel.config.settings import Settings

Effect = Literal["write", "exec", "http", "devkit", "branch", "config", "ssh"]
"""Capabilities with an effect; the same as toolhost.authority.EFFECTS, which a test compares."""
EVERY_EFFECT: tuple[Effect, ...] = ("write", "exec", "http", "devkit", "branch", "config", "ssh")
NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


class ModeTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[modes.NAME]: a mode of the person's own. Read-only unless it says otherwise. `ask`: effects a person is asked about
    first. `prompt` is its part of the system prompt."""

    label: str = ""
    description: str = ""
    read_only: bool = True
    ask: list[Effect] = []
    prompt: str = ""


class Mode(msgspec.Struct, frozen=True):
    """`read_only`: no effect outside the conversation by any route. `ask`: effects that wait for a person's consent."""

    id: str
    label: str
    description: str
    read_only: bool
    prompt: str
    ask: tuple[Effect, ...] = ()


CHAT = Mode(
    id="chat",
    label="Chat",
    description="Read-only: talks about the code and answers; changes nothing.",
    read_only=True,
    prompt=(
        "You are in a conversation, not at work: answer, explain, look at files where it helps. Nothing can be changed and no "
        "command can be run, by any route. Keep it short; do not write plans nobody asked for."
    ),
)
PLAN = Mode(
    id="plan",
    label="Plan",
    description="Read-only: looks, thinks and proposes; changes nothing.",
    read_only=True,
    prompt=(
        "You are in a read-only mode: nothing can be changed and no command can be run, by any route. Investigate first, "
        "then give a plan: each file to change, what and why, in an order that can be followed; leave decisions that are "
        "the person's to the person. If a tool you would need is missing, name it; do not work around it. The person can "
        "hand your last reply to a mode that carries it out, so make that reply the whole plan."
    ),
)
ASK = Mode(
    id="ask",
    label="Ask",
    description="Asks before each change and each command.",
    read_only=False,
    prompt=(
        "The person is asked before each change and each command, and sees exactly what you ask for: prefer small, plain "
        "commands and small edits, and say in a sentence why before you call. When something was refused, do not try it "
        "again in other words; go on without it or ask what they would rather have."
    ),
    ask=EVERY_EFFECT,
)
AGENT = Mode(
    id="agent",
    label="Agent",
    description="Reads, edits and runs commands on the conversation's own branch.",
    read_only=False,
    prompt="You may change files of the checkout and run commands. Make the change, check it, say what you did.",
)
BUILTIN = {mode.id: mode for mode in (AGENT, ASK, PLAN, CHAT)}


class Modes:
    """The modes of one configuration. `always`: effects that are asked about in every mode."""

    def __init__(self, own: dict[str, ModeTable] | None = None, always: list[Effect] | None = None) -> None:
        self._always = tuple(always or ())
        self.known = BUILTIN | {name: _made(name, table) for name, table in (own or {}).items()}

    @classmethod
    def of(cls, settings: Settings) -> Modes:
        """The modes of these settings. Raises ConfigError for a name that cannot be one, or a default that is none."""
        for name in settings.modes:
            if name in BUILTIN:
                raise _unusable(f"modes.{name}", f"The mode {name} is built in and stays as it is.", "Give yours another name.")
            if not NAME.fullmatch(name):
                raise _unusable(f"modes.{name[:40]}", f"{name[:40]!r} cannot be a mode's name.",
                                "Use up to 32 lower-case letters, digits and dashes.")
        modes = cls(settings.modes, settings.approvals.ask)
        default = settings.agent.default_mode
        if default not in modes.known:
            raise _unusable("agent.default_mode", f"There is no mode {default[:40]!r}, so it cannot be the default.",
                            "Modes: " + ", ".join(modes.known) + ".")
        return modes

    def get(self, identifier: str) -> Mode:
        """The mode, or a read-only one of that name when it is unknown."""
        mode = self.known.get(identifier) or Mode(
            id=identifier, label=identifier, description="Unknown mode: read-only.", read_only=True, prompt=PLAN.prompt)
        asked = tuple(effect for effect in EVERY_EFFECT if effect in mode.ask or effect in self._always)
        return msgspec.structs.replace(mode, ask=asked)

    def all(self) -> list[Mode]:
        """Every mode a person can choose."""
        return [self.get(name) for name in self.known]


def _made(name: str, table: ModeTable) -> Mode:
    label = table.label or name.replace("-", " ").capitalize()
    prompt = table.prompt or (PLAN.prompt if table.read_only else ASK.prompt if table.ask else AGENT.prompt)
    return Mode(id=name, label=label, description=table.description, read_only=table.read_only, prompt=prompt,
                ask=tuple(table.ask))


def _unusable(key: str, message: str, hint: str) -> ConfigError:
    return ConfigError(message, hint=hint, file="configuration", line=0, key=key)
