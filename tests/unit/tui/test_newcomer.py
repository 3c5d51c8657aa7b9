"""docs/newcomer.md is true: each of its headings is done here, and what it quotes stands on the screen."""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from textual import events
from thetis_kernel.config.loading import Layers
from thetis_kernel.errors import RootError
from thetis_kernel.gateway.settings import SettingsDoor
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.app import ThetisApp
from thetis_tui.screens.home import HomeScreen

PAGE = (Path(__file__).parents[3] / "docs/newcomer.md").read_text()
SECTIONS = {int(n): body for n, body in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)}
Act = Callable[[Shown], Awaitable[None]]


def quotes(number: int) -> list[str]:
    """What the page says the screen says."""
    return re.findall(r"^> (.+)$", SECTIONS[number], re.MULTILINE)


def flat(text: str) -> str:
    """Without frames and line breaks."""
    return " ".join(re.sub(r"[│╭╮╰╯─▌┃]", " ", text).split())


def _said(words: str, s: Shown) -> bool:
    return words in flat(s.text()) or any(words in flat(toast) for toast in s.toasts())


async def says(number: int, s: Shown) -> None:
    """Wait until every quotation stands on the screen or in a passing note."""
    for words in quotes(number):
        await s.until(partial(_said, words, s), f"{number}: {words}")


def test_there_are_twenty_at_least_and_each_is_done_here() -> None:
    done = {1, 2, 14, 20, *SCENES}
    assert set(SECTIONS) == done == set(range(1, len(SECTIONS) + 1)) and len(SECTIONS) >= 20


def test_1_the_wrong_directory(tmp_path: Path) -> None:
    from thetis_kernel.roots import find_root

    with pytest.raises(RootError) as error:
        find_root(tmp_path)
    assert all(words in error.value.message for words in quotes(1))


def test_2_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from thetis_kernel.cli.dispatch import dispatch

    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert dispatch(argparse.Namespace(command=None)) == 2
    told = flat(capsys.readouterr().err)
    assert all(words in told for words in quotes(2))


async def nothing(s: Shown) -> None:
    """Only looks."""


async def tab(s: Shown) -> None:
    await s.pilot.press("tab")


async def question_mark(s: Shown) -> None:
    await s.pilot.press("question_mark")


async def slash(s: Shown) -> None:
    await s.pilot.press("slash")


async def mistyped(s: Shown) -> None:
    await s.send("/hepl")
    await s.until(lambda: s.desk.prompt.text == "/hepl")


async def no_walls(s: Shown) -> None:
    s.gateway.tell(c.WallsQuestion(hint="sudo apt install bubblewrap"))


async def busy(s: Shown) -> None:
    await s.send("build it")
    await s.until(lambda: s.app.state.turn)


async def stopped(s: Shown) -> None:
    await busy(s)
    await s.type("half")
    await s.pilot.press("escape")


async def quits(s: Shown) -> None:
    await busy(s)
    await s.pilot.press("ctrl+q")


async def ctrl_c(s: Shown) -> None:
    await s.pilot.press("ctrl+c")


async def pastes(s: Shown) -> None:
    s.desk.prompt.post_message(events.Paste("\n".join(f"line {n}" for n in range(500))))


async def asks(s: Shown) -> None:
    await busy(s)
    s.gateway.request(s.app.state.current, detail="git push origin main")


async def undo(s: Shown) -> None:
    await s.pilot.press("f1")


async def narrow(s: Shown) -> None:
    await s.pilot.resize_terminal(40, 12)


async def deletes(s: Shown) -> None:
    session = s.gateway.make("Old", branch="conv/0a0b0c0d", last_seq=12)
    s.gateway.change(session)
    await s.until(lambda: session in s.app.state.conversations)
    s.app.perform_on(session, "delete")


async def last_week(s: Shown) -> None:
    session = s.gateway.make("Birds", branch="conv/0a0b0c0d")
    s.gateway.change(session)
    s.gateway.store(session, e.User("where do herons nest?"))
    await s.pilot.press("f4")
    await s.until(lambda: isinstance(s.app.screen, HomeScreen))
    await s.pilot.press("slash", *"nest")


async def vanishes(s: Shown) -> None:
    s.gateway.vanish()


async def looks_for_a_setting(s: Shown) -> None:
    await s.send("/settings idle")


async def wants_a_key(s: Shown) -> None:
    await s.send("/keys home")
    await s.until(lambda: "screen.keys.home" in s.text())
    await s.pilot.press("enter")


async def what_changed(s: Shown) -> None:
    s.gateway.diff = c.DiffText(patch="", files=[("src/harbour.py", 1, 1)])
    await s.send("build it")
    await s.until(lambda: s.app.state.conversation is not None)
    await s.pilot.press("alt+d")


SCENES: dict[int, Act] = {
    3: nothing, 4: tab, 5: question_mark, 6: slash, 7: mistyped, 8: nothing, 9: no_walls, 10: busy, 11: stopped, 12: quits,
    13: ctrl_c, 15: pastes, 16: asks, 17: undo, 18: narrow, 19: deletes, 21: last_week, 22: vanishes, 23: looks_for_a_setting,
    24: wants_a_key, 25: what_changed,
}


@pytest.mark.parametrize("number", SCENES)
async def test_what_the_page_says(number: int, tmp_path: Path) -> None:
    gateway = FakeGateway(uncommitted=3)
    gateway.settings = SettingsDoor(Layers(tmp_path, tmp_path / "config.toml"))
    async with screen(gateway, size=(120, 60 if number not in (5, 17) else 140)) as s:
        await SCENES[number](s)
        await says(number, s)


async def test_14_ctrl_d_with_something_typed() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("half a sentence")
        await s.pilot.press("ctrl+d")
        assert s.app.is_running and s.desk.prompt.text == "half a sentence"


def _focused(s: Shown) -> bool:
    return s.desk.prompt.has_focus


async def test_20_a_terminal_that_is_closed(tmp_path: Path) -> None:
    for expected in ("", "half a sentence"):
        app = ThetisApp(FakeGateway().connect, keep=tmp_path / "screen.json")
        async with app.run_test() as pilot:
            s = Shown(app, pilot, FakeGateway(), [])
            await s.until(partial(_focused, s))
            assert app.desk.prompt.text == expected
            if not expected:
                await s.type("half a sentence")
                await s.until(lambda: "half a sentence" in (tmp_path / "screen.json").read_text()
                              if (tmp_path / "screen.json").exists() else False)
