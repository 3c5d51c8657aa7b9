"""The agent's skills: each operation is asked of the gateway, which has the directories, the body and the log.

Owns what a person is shown before one is written. A skill in the person's own directory speaks in every later conversation,
so that is put to them whatever the mode. Must not know how skills are read or ranked.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.skills import FindSkills, ReadSkill, WriteSkill
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.toolhost.authority import Intended, Subject
from thetis_kernel.toolhost.context import TurnContext

LASTS = "It would speak in every later conversation."


def read(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """A skill's text: {"card", "text", "file", "known"}."""
    return _ask(context, ReadSkill(name=arguments["name"], file=arguments["file"], again=arguments["again"]))


def find(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Skills that fit some words: {"cards", "problems"}."""
    return _ask(context, FindSkills(query=arguments["query"], limit=arguments["limit"] or 10))


def write(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Keep or remove a skill: {"name", "ok", "source", "diagnostics", "revision", "path"}."""
    return _ask(context, WriteSkill(name=arguments["name"], contents=arguments["contents"], where=_where(arguments)))


def intended(context: TurnContext, arguments: dict[str, Any]) -> Intended:
    """What a person is asked with."""
    name, lasts = arguments["name"], _where(arguments) == "person"
    what = f"{'Write' if arguments['contents'] else 'Remove'} the skill {name}"[:300]
    if lasts:
        return Intended(what=what, detail=arguments["contents"], where="your own skills", insists=LASTS)
    place = f"skills/{name}"
    return Intended(what=what, detail=arguments["contents"], where="this conversation",
                    subjects=(Subject(place, session=place, wide=False),))


def _where(arguments: dict[str, Any]) -> Any:
    if arguments["where"] not in ("conversation", "person"):
        raise ThetisError("where is conversation or person.", code="bad-arguments")
    return arguments["where"]


def _ask(context: TurnContext, ask: Ask[Any]) -> dict[str, Any]:
    if context.gateway is None:
        raise ThetisError("There are no skills in this place.", code="unavailable")
    told: dict[str, Any] = msgspec.to_builtins(context.gateway(ask))
    return told
