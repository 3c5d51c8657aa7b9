"""Going back from the screen: words are chosen, what goes back is asked, and the words come back into the prompt."""

from __future__ import annotations

from typing import Any

import pytest
from thetis_kernel.protocol.timemachine import Fork, Forked, ListMoments, Moment, RewindTo, Rewound, UndoRewind

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.screens.dialog import Dialog
from thetis_tui.screens.moments import MomentsScreen

MOMENTS = [Moment(3, 1, "first \x1b[31mwords"), Moment(9, 2, "second words\nand more")]


def answering(gateway: FakeGateway, fork: str) -> None:
    known = gateway._answer

    def answer(ask: Any) -> Any:
        match ask:
            case ListMoments():
                return MOMENTS
            case RewindTo():
                return Rewound("second words\nand more", True, 2, 1, ["plan: it stays."])
            case UndoRewind():
                return Rewound("", True, 3, 0)
            case Fork():
                return Forked(fork, "first words" if ask.seq else "")
        return known(ask)

    gateway._answer = answer  # type: ignore[method-assign]


async def dialog(s: Shown) -> None:
    await s.until(lambda: isinstance(s.app.screen, Dialog), "a question")
    found = s.app.screen
    assert isinstance(found, Dialog)
    await s.until(lambda: found.armed, "it takes an answer")


@pytest.mark.parametrize(("key", "what"), [("b", "both"), ("c", "talk"), ("f", "files"), ("escape", "")])
async def test_chosen_words_are_gone_back_to_after_a_question(key: str, what: str) -> None:
    gateway = FakeGateway()
    session = gateway.make("One")
    answering(gateway, session)
    async with screen(gateway, conversation=session) as s:
        await s.type("/rewind")
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, MomentsScreen), "the list")
        await s.pilot.press("enter")
        await dialog(s)
        assert not gateway.asked(RewindTo)
        await s.pilot.press(key)
        await s.until(lambda: not isinstance(s.app.screen, Dialog), "answered")
        if what:
            await s.until(lambda: s.app.desk.prompt.text == "second words\nand more", "the words come back")
        assert [(each.session, each.seq, each.what) for each in gateway.asked(RewindTo)] == [(session, 9, what)] * bool(what)


async def test_earlier_words_can_be_forked_from() -> None:
    gateway = FakeGateway()
    session, other = gateway.make("One"), gateway.make("Other")
    answering(gateway, other)
    async with screen(gateway, conversation=session) as s:
        await s.type("/rewind")
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, MomentsScreen), "the list")
        await s.pilot.press("up", "enter")
        await dialog(s)
        await s.pilot.press("k")
        await s.until(lambda: s.app.state.current == other, "the fork is open")
        await s.until(lambda: s.app.desk.prompt.text == "first words", "its words wait")
        assert [each.seq for each in gateway.asked(Fork)] == [3] and not gateway.asked(RewindTo)


async def test_undo_and_a_whole_fork_are_one_command_each() -> None:
    gateway = FakeGateway()
    session, other = gateway.make("One"), gateway.make("Other")
    answering(gateway, other)
    async with screen(gateway, conversation=session) as s:
        await s.type("/undo")
        await s.pilot.press("enter")
        await s.until(lambda: bool(gateway.asked(UndoRewind)), "taken back")
        await s.type("/fork")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.state.current == other, "the fork is open")
        assert [each.seq for each in gateway.asked(Fork)] == [0]
