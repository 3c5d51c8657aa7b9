"""`/skill`: by name at once, without one from a list, and nothing of a skill's text is markup."""

from __future__ import annotations

from typing import Any

from textual.command import CommandPalette
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.skills import AttachSkill, Card, ListSkills, SkillList

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen

CARDS = [Card("bold", "[b]Not[/b] markup \x1b[2J."), Card("careful", "Slow and sure.")]


class WithSkills(FakeGateway):
    """A gateway that has two skills."""

    def _answer(self, ask: Any) -> Any:
        match ask:
            case ListSkills():
                return SkillList(CARDS)
            case AttachSkill(name=name):
                return next(card for card in CARDS if card.name == name)
        return super()._answer(ask)


async def test_a_name_attaches_it_and_is_no_message() -> None:
    gateway = WithSkills()
    session = gateway.make("Work")
    async with screen(gateway) as s:
        await s.desk.open(session)
        await s.send("/skill careful")
        await s.until(lambda: gateway.asked(AttachSkill))
        assert gateway.asked(AttachSkill) == [AttachSkill(session=session, name="careful")]
        await s.until(lambda: "The agent has the skill careful." in s.text())
        assert gateway.asked(c.Submit) == []


async def test_without_a_name_one_picks_from_a_list() -> None:
    gateway = WithSkills()
    session = gateway.make("Work")
    async with screen(gateway) as s:
        await s.desk.open(session)
        await s.send("/skill")
        await s.until(lambda: isinstance(s.app.screen, CommandPalette))
        await s.until(lambda: "careful" in s.text() and "[b]Not[/b] markup" in s.text())
        await s.pilot.press(*"slow")
        await s.until(lambda: "Slow and sure." in s.text() and "[b]Not" not in s.text())
        await s.pilot.press("enter")
        await s.until(lambda: gateway.asked(AttachSkill))
        assert [ask.name for ask in gateway.asked(AttachSkill)] == ["careful"]
