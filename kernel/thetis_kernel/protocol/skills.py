"""Skills: short instructions for one kind of work, as the catalogue, the agent and a person see them.

Every text here is a stranger's until shown otherwise: one line where a line is meant, never markup.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.wire import Ask

Source = Literal["shipped", "person", "checkout", "conversation"]
"""Where a skill comes from. Later ones take the place of earlier ones of the same name."""
SCOPE = "skills"
"""Of the conversation's state: `offered` (named to the agent, once), `used:<name>` and `attached:<name>` (the digest)."""


class Problem(msgspec.Struct, frozen=True):
    """What is wrong with a skill: its file relative to the directory of skills, a line (0: the whole), a sentence.
    `fatal`: it cannot be used like this."""

    path: str
    line: int
    message: str
    fatal: bool = True


class Card(msgspec.Struct, frozen=True):
    """What is said of a skill before it is read. `files`: what lies beside it, to be read by name."""

    name: str
    brief: str
    when_to_use: str = ""
    tags: list[str] = []
    universal: bool = False
    source: Source = "shipped"
    files: list[str] = []
    digest: str = ""


class SkillText(msgspec.Struct, frozen=True):
    """A skill's text, or that of one file beside it. `known`: this conversation has read exactly this before, so `text` is
    "" unless it was asked for again."""

    card: Card
    text: str
    file: str = ""
    known: bool = False


class SkillList(msgspec.Struct, frozen=True):
    """Cards, best first where something was searched for, else by name; and what is wrong with others."""

    cards: list[Card]
    problems: list[Problem] = []


class SkillWritten(msgspec.Struct, frozen=True):
    """Whether the skill was kept; when not, `diagnostics` say why and nothing changed. `revision`: the digest of its files."""

    name: str
    ok: bool
    source: Source
    diagnostics: list[Problem] = []
    revision: str = ""
    path: str = ""


class ReadSkill(Ask[SkillText], frozen=True, tag="worker.read-skill"):
    """The agent reads a skill, or a file beside it."""

    name: str
    file: str = ""
    again: bool = False


class FindSkills(Ask[SkillList], frozen=True, tag="worker.find-skills"):
    """Skills that fit the words; all of them without words."""

    query: str = ""
    limit: int = 10


class WriteSkill(Ask[SkillWritten], frozen=True, tag="worker.write-skill"):
    """Keep a skill's text in the conversation's body, or, as the turn has permitted, in the person's own directory."""

    name: str
    contents: str
    where: Literal["conversation", "person"] = "conversation"


class ListSkills(Ask[SkillList], frozen=True, tag="client.skills"):
    """All skills; those of a conversation too when one is named."""

    session: str = ""


class ShowSkill(Ask[SkillText], frozen=True, tag="client.skill"):
    """A skill's text for a person."""

    name: str
    session: str = ""


class AttachSkill(Ask[Card], frozen=True, tag="client.attach-skill"):
    """A person attaches a skill to a conversation: its text is told to the agent once, and again only if it changed."""

    session: str
    name: str
