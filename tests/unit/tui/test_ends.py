"""The edges: keys before the prompt stands, mistakes of the screen itself, signals, the way out."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import msgspec
import pytest
from textual import events
from textual.widgets import Static
from thetis_kernel.protocol import client as c

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen
from thetis_tui.app import ThetisApp
from thetis_tui.fatal import end_on_signals, farewell


async def test_keys_before_the_prompt_stands_are_kept_in_order_and_enter_is_enter() -> None:
    gateway = FakeGateway()
    app = ThetisApp(gateway.connect)
    # A terminal that is not taken over yet turns Enter into a newline, which reads as ctrl+j.
    for key, character in (("h", "h"), ("i", "i"), ("ctrl+j", "\n"), ("x", "x")):
        app.post_message(events.Key(key, character))
    async with app.run_test() as pilot:
        end = asyncio.get_running_loop().time() + 20
        while not gateway.asked(c.Submit) and asyncio.get_running_loop().time() < end:
            await pilot.pause()
        assert [ask.text for ask in gateway.asked(c.Submit)] == ["hi"]
        assert app.desk.prompt.text == "x"


def test_a_mistake_of_the_screen_is_a_sentence_and_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        raise ValueError("bad \x1b[2Jthing\nsecond line")
    except ValueError as error:
        said = farewell(error)
    first, second, rest = said.split("\n")
    assert first.startswith("thetis: the screen failed (ValueError: bad \u241b[2Jthing second line).")
    assert "Nothing of your conversations is lost" in second
    assert rest == ""
    [file] = tmp_path.glob("thetis-screen-*.txt")
    assert "test_a_mistake_of_the_screen" in file.read_text()
    assert "\x1b" not in file.read_text()


async def test_an_exception_in_a_handler_ends_with_the_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def connect() -> None:
        raise KeyError("a mistake")

    with pytest.raises(BaseException, match="a mistake"):
        async with screen(FakeGateway(), connect=connect, wait=False) as s:  # type: ignore[arg-type]
            for _ in range(100):
                await s.pilot.pause()
    said = capsys.readouterr().err
    assert "thetis: the screen failed" in said
    assert "Traceback" not in said


async def test_signals_end_in_order_and_are_given_back() -> None:
    left: list[str] = []
    before = signal.getsignal(signal.SIGTERM)
    with end_on_signals(lambda: left.append("left"), lambda: left.append("hung up")):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        for _ in range(20):
            await asyncio.sleep(0)
            if len(left) == 2:
                break
            await asyncio.sleep(0.01)
    assert left == ["left", "hung up"]
    assert signal.getsignal(signal.SIGTERM) == before


async def test_the_question_goes_when_nothing_runs_any_more() -> None:
    gateway = FakeGateway()
    turns = [gateway.begin(gateway.make(name, branch="conv/x")) for name in ("first job", "second job")]
    async with screen(gateway) as s:
        await s.pilot.press("ctrl+q")
        await s.until(lambda: "2 turns are running" in s.text())
        turns[0].finish()
        await s.until(lambda: "Still running" in s.text(), "the question is about what runs now")
        assert s.app.screen.query_one(".words", Static).visual.plain.startswith("  second job\n")  # type: ignore[union-attr]
        turns[1].finish()
        await s.until(lambda: s.app.screen is s.desk)
        await s.until(s.toasts)
        assert s.toasts() == ["Nothing is running any more. ctrl+q quits."]
        assert s.app.return_code is None


async def test_leaving_with_several_turns_names_them() -> None:
    gateway = FakeGateway()
    for name in ("first [b]job[/b]", "second job"):
        gateway.begin(gateway.make(name, branch="conv/x"))
    async with screen(gateway) as s:
        await s.pilot.press("ctrl+q")
        await s.until(lambda: "2 turns are running" in s.text())
        assert "first [b]job[/b]" in s.text()
        await s.until(lambda: s.app.screen.armed)  # type: ignore[attr-defined]
        await s.pilot.press("s")
        await s.until(lambda: s.app.return_code == 0)
        assert len(gateway.asked(c.Stop)) == 2


async def test_running_turns_can_run_on_without_the_screen() -> None:
    gateway = FakeGateway()
    gateway.begin(gateway.make("first job", branch="conv/x"))
    async with screen(gateway) as s:
        await s.pilot.press("ctrl+q")
        await s.until(lambda: "Let it run on and quit" in s.text())
        await s.until(lambda: s.app.screen.armed)  # type: ignore[attr-defined]
        await s.pilot.press("d")
        await s.until(lambda: s.app.return_code == 0)
        assert s.app.leaving.detach and not gateway.asked(c.Stop)


async def test_a_gateway_of_another_process_is_left_without_a_question() -> None:
    """Its turns do not end with this screen."""
    gateway = FakeGateway()
    gateway.begin(gateway.make("first job", branch="conv/x"))
    async with screen(gateway) as s:
        assert s.app.state.status is not None
        s.app.state.status = msgspec.structs.replace(s.app.state.status, pid=1, holder="daemon")
        await s.pilot.press("ctrl+q")
        await s.until(lambda: s.app.return_code == 0)
        assert not s.app.leaving.detach and not gateway.asked(c.Stop)


async def test_a_hang_up_leaves_what_runs_running() -> None:
    gateway = FakeGateway()
    gateway.begin(gateway.make("first job", branch="conv/x"))
    async with screen(gateway) as s:
        s.app.hang_up()
        await s.until(lambda: s.app.return_code == 0)
        assert s.app.leaving.detach and not gateway.asked(c.Stop)
