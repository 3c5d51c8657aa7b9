"""The form of a question: a letter, several, words of one's own, later; answered elsewhere; the commands around it."""

from __future__ import annotations

from typing import Any

import pytest
from thetis_kernel.protocol import asking as a
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui import questions
from thetis_tui.screens import dialog
from thetis_tui.screens.ask import AskScreen
from thetis_tui.screens.question import QuestionSheet

COLOURS = {"id": "1", "question": "Which colour?", "options": ["red", "green", "blue"]}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "GUARD", 0.05)
    monkeypatch.setattr(questions, "QUIET", 0.05)


async def asked(s: Shown, *parts: dict[str, Any]) -> QuestionSheet:
    """A turn that asks, and the form it comes with."""
    await s.send("go")
    await s.until(lambda: bool(s.app.state.current))
    s.gateway.store(s.app.state.current, e.Question(id="q1", questions=list(parts)))
    return await sheet(s)


async def sheet(s: Shown) -> QuestionSheet:
    await s.until(lambda: isinstance(s.app.screen, QuestionSheet))
    found = s.app.screen
    assert isinstance(found, QuestionSheet)
    await s.until(lambda: found.armed)
    return found


async def answers(s: Shown) -> list[a.Given]:
    await s.until(lambda: bool(s.gateway.asked(a.AnswerQuestion)))
    [told] = s.gateway.asked(a.AnswerQuestion)
    assert told.id == "q1"
    return told.answers


async def test_a_letter_answers() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s, COLOURS)
        await s.pilot.press("b")
        assert await answers(s) == [a.Given("1", chose=["green"])]


async def test_several_are_marked_and_enter_answers() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s, {**COLOURS, "allow_multiple": True})
        await s.pilot.press("c", "a", "enter")
        assert await answers(s) == [a.Given("1", chose=["red", "blue"])]


async def test_each_part_is_asked_and_words_of_ones_own_go_along() -> None:
    async with screen(FakeGateway()) as s:
        first = await asked(s, COLOURS, {"id": "2", "question": "Why?"})
        await s.pilot.press("a")
        await s.until(lambda: isinstance(s.app.screen, QuestionSheet) and s.app.screen is not first)
        await sheet(s)
        await s.pilot.press("w")
        await s.until(lambda: isinstance(s.app.screen, AskScreen))
        await s.pilot.press(*"so it is", "enter")
        assert await answers(s) == [a.Given("1", chose=["red"]), a.Given("2", wrote="so it is")]


async def test_later_leaves_it_open_and_the_command_brings_it_back() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s, COLOURS)
        await s.pilot.press("escape")
        await s.until(lambda: not isinstance(s.app.screen, QuestionSheet))
        assert s.gateway.asked(a.AnswerQuestion) == []
        await s.send("/answer")
        await sheet(s)
        await s.pilot.press("a")
        assert await answers(s) == [a.Given("1", chose=["red"])]


async def test_compact_is_handed_on_with_its_hint() -> None:
    async with screen(FakeGateway()) as s:
        await s.send("go")
        await s.until(lambda: bool(s.app.state.current))
        await s.send("/compact keep the paths")
        await s.until(lambda: bool(s.gateway.asked(a.Compact)))
        assert s.gateway.asked(a.Compact)[0].hint == "keep the paths"
