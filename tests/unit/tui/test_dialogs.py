"""Questions: asked once, answered by nobody's stray key."""

from __future__ import annotations

import pytest
from thetis_kernel.protocol import client as c

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.screens import dialog
from thetis_tui.screens.dialog import Dialog, Option


async def asked(s: Shown) -> Dialog[str]:
    """The walls question, open but not yet taking answers."""
    await s.send("run make")
    await s.until(lambda: s.app.state.turn is not None)
    s.gateway.tell(c.WallsQuestion(hint="sudo apt install bubblewrap"))
    await s.until(lambda: isinstance(s.app.screen, Dialog))
    assert isinstance(s.app.screen, Dialog)
    return s.app.screen


async def test_the_walls_question_shows_the_way_to_have_walls_and_takes_an_answer() -> None:
    async with screen(FakeGateway(walls="none")) as s:
        question = await asked(s)
        await s.until(lambda: "sudo apt install bubblewrap" in s.text())
        await s.until(lambda: question.armed)
        await s.pilot.press("y")
        await s.until(lambda: s.gateway.asked(c.Consent))
        assert s.gateway.asked(c.Consent) == [c.Consent(allow=True)]
        assert s.app.screen is s.desk


async def test_no_is_what_enter_takes() -> None:
    async with screen(FakeGateway()) as s:
        question = await asked(s)
        await s.until(lambda: question.armed)
        await s.pilot.press("enter")
        await s.until(lambda: s.gateway.asked(c.Consent))
        assert s.gateway.asked(c.Consent) == [c.Consent(allow=False)]


async def test_keys_already_on_their_way_answer_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "GUARD", 3600.0)
    async with screen(FakeGateway()) as s:
        question = await asked(s)
        await s.pilot.press("y", "enter", "escape", "n", "space")
        await s.pilot.click(".answer")
        assert s.app.screen is question
        assert s.gateway.asked(c.Consent) == []
        assert s.gateway.asked(c.Stop) == []


async def test_every_key_starts_the_wait_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "GUARD", 3600.0)
    async with screen(FakeGateway()) as s:
        question = await asked(s)
        first = question._timer
        await s.pilot.press("y")
        await s.until(lambda: question._timer is not first)
        assert not question.armed


async def test_esc_stops_the_turn_and_leaves_the_question_open() -> None:
    async with screen(FakeGateway()) as s:
        question = await asked(s)
        await s.until(lambda: question.armed)
        await s.pilot.press("escape")
        await s.until(lambda: s.gateway.asked(c.Stop))
        assert s.gateway.asked(c.Consent) == []
        await s.until(lambda: "stopped by you" in s.transcript())


async def test_the_question_is_asked_once_at_a_time() -> None:
    async with screen(FakeGateway()) as s:
        question = await asked(s)
        s.gateway.tell(c.WallsQuestion(hint="x"))
        s.gateway.tell(c.WallsQuestion(hint="x"))
        await s.pilot.pause()
        await s.until(lambda: question.armed)
        await s.pilot.press("n")
        await s.until(lambda: s.app.screen is s.desk)
        await s.calm()
        assert len(s.gateway.asked(c.Consent)) == 1


async def test_arrows_mark_and_a_click_answers_only_when_armed() -> None:
    async with screen(FakeGateway()) as s:
        question: Dialog[str] = Dialog("Which?", "[b]words[/b]", [Option("a", "A", "a"), Option("b", "B", "b")], "")
        answers: list[str | None] = []
        await s.app.push_screen(question, answers.append)
        await s.until(lambda: "[b]words[/b]" in s.text())
        await s.until(lambda: question.armed)
        await s.pilot.press("down", "enter")
        await s.until(lambda: answers == ["b"])


async def test_the_guard_is_longer_than_a_typists_pause() -> None:
    assert dialog.GUARD >= 0.3
