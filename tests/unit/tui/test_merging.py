"""Merging from the screen: said first what will happen, done only on a plain yes, conflicts offered to the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from thetis_kernel.protocol.branches import Applied, Landed, Plan
from thetis_kernel.protocol.git import Changed
from thetis_kernel.protocol.merging import ApplyChanges, Merge, MergePlan, PlanMerge, Resolve

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.commands.merging import words
from thetis_tui.screens.dialog import Dialog

BRANCH = "conv/0a0b0c0d"


def planned(how: Any = "ready", **more: Any) -> MergePlan:
    changed = [Changed("a.txt", "M"), Changed("new \x1b[31m.txt", "A")]
    plan = Plan(how=how, tip="1" * 40, target="main", onto="2" * 40, changed=changed, total=2, ours=True, place="/r", **more)
    return MergePlan("", BRANCH, plan, "Do it\n\n- this\n")


def answering(gateway: FakeGateway, session: str, plan: MergePlan) -> None:
    known = gateway._answer

    def answer(ask: Any) -> Any:
        match ask:
            case PlanMerge():
                return MergePlan(session, BRANCH, plan.plan, plan.message)
            case Merge():
                return Landed("3" * 40, ask.onto, "main", "refs/thetis/presquash/x/1", 2, checked_out=True)
            case Resolve():
                return True
            case ApplyChanges():
                return Applied(plan.plan.changed, 2)
        return known(ask)

    gateway._answer = answer  # type: ignore[method-assign]


async def dialog(s: Shown) -> Dialog[Any]:
    await s.until(lambda: isinstance(s.app.screen, Dialog), "a question")
    found = s.app.screen
    assert isinstance(found, Dialog)
    await s.until(lambda: found.armed, "it takes an answer")
    return found


@pytest.mark.parametrize("key", ["m", "escape", "enter"])
async def test_it_merges_exactly_what_was_shown_and_only_on_yes(key: str) -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch=BRANCH)
    answering(gateway, session, planned())
    async with screen(gateway, conversation=session) as s:
        await s.type("/merge")
        await s.pilot.press("enter")
        await dialog(s)
        assert not gateway.asked(Merge)
        await s.pilot.press(key)
        await s.until(lambda: not isinstance(s.app.screen, Dialog), "answered")
        if key == "m":
            await s.until(lambda: bool(gateway.asked(Merge)), "merged")
        merges = gateway.asked(Merge)
        assert [(each.session, each.tip, each.onto) for each in merges] == [(session, "1" * 40, "2" * 40)] * (key == "m")


async def test_conflicts_are_offered_to_the_conversation() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch=BRANCH)
    answering(gateway, session, planned("conflicts", conflicts=["a.txt"]))
    async with screen(gateway, conversation=session) as s:
        await s.type("/merge")
        await s.pilot.press("enter")
        await dialog(s)
        await s.pilot.press("r")
        await s.until(lambda: bool(gateway.asked(Resolve)), "handed over")
        assert not gateway.asked(Merge)


async def test_what_blocks_is_said_and_nothing_is_asked() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch=BRANCH)
    answering(gateway, session, planned(blocked=["The checkout has uncommitted work: a.txt."]))
    async with screen(gateway, conversation=session) as s:
        await s.type("/merge")
        await s.pilot.press("enter")
        await s.until(lambda: bool(gateway.asked(PlanMerge)), "planned")
        await s.type("/apply")
        await s.pilot.press("enter")
        await s.until(lambda: bool(gateway.asked(ApplyChanges)), "applied")
        assert not isinstance(s.app.screen, Dialog) and not gateway.asked(Merge)


def test_the_words_name_files_target_and_checkout() -> None:
    told = words(planned())
    assert "One commit on main, “Do it”, with 2 changed files:" in told and "  M  a.txt" in told
    assert told.endswith("Your checkout is clean and goes along.")
