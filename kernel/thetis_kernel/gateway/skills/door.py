"""What clients ask of skills. Looking is anybody's; attaching one is a person's on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from thetis_kernel.protocol.skills import AttachSkill, Card, ListSkills, ShowSkill, SkillList, SkillText

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway


def handlers(gateway: Gateway, only_a_person: Callable[[str], None]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel; `only_a_person(what)` refuses a bridge."""

    async def found(session: str) -> str:
        return await gateway.conversations.find(session) if session else ""

    async def listing(ask: ListSkills) -> SkillList:
        return await gateway.skills.all(await found(ask.session))

    async def show(ask: ShowSkill) -> SkillText:
        return await gateway.skills.show(await found(ask.session), ask.name)

    async def attach(ask: AttachSkill) -> Card:
        only_a_person("A conversation's skill")
        return await gateway.skills.attach(await found(ask.session), ask.name)

    return {ListSkills: listing, ShowSkill: show, AttachSkill: attach}
