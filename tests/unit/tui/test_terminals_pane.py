"""Terminals beside the transcript: live, typeable, with one way out; no control sequence of a program reaches the real one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol import terminals as t

from tests.support.fake_screen import Shown, screen
from tests.support.fake_terminals import TerminalGateway
from thetis_tui.keybytes import key_bytes, pasted
from thetis_tui.sanitise import cells
from thetis_tui.widgets.terminallist import line_of
from thetis_tui.widgets.terminalspane import TerminalsPane
from thetis_tui.widgets.terminalview import look


def pane(s: Shown) -> TerminalsPane:
    found = s.desk.pane_of("terminals")
    assert isinstance(found, TerminalsPane)
    return found


def begun(mode: str = "") -> tuple[TerminalGateway, str]:
    gateway = TerminalGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d", mode=mode)
    gateway.store(session, e.User("go"))
    return gateway, session


async def test_what_the_agent_runs_is_there_live_with_its_colours_and_how_it_ended() -> None:
    gateway, session = begun()
    live = gateway.terminal(
        "t1", b"plain \x1b[1;32mgreen\x1b[0m\r\n", name="server", running=True, command="npm run dev"
    )
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t")
        await s.until(lambda: "plain green" in s.text() and "server npm run dev" in s.text())
        live.feed(b"later\r\n")
        await s.until(lambda: "later" in s.text())
        strips = s.app.screen._compositor.render_strips()
        greens = [
            segment for strip in strips for segment in strip if segment.text == "green" and segment.style is not None
        ]
        assert greens and greens[0].style is not None and greens[0].style.bold and greens[0].style.color is not None
        gateway.changes("t1", running=False, exit_code=3)
        await s.until(lambda: "exit 3" in s.text())
        assert not gateway.sizes, "looking changes nothing for the agent"


async def test_one_of_my_own_takes_every_key_but_one_and_the_size_of_the_pane() -> None:
    gateway, session = begun()
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t")
        await s.until(lambda: "No terminal is open" in s.text())
        await s.pilot.press("n")
        await s.until(lambda: pane(s).view.has_focus and "all other keys are the program's" in s.text())
        await s.pilot.press(
            "l", "s", "space", "A", "enter", "ctrl+c", "escape", "ctrl+q", "ctrl+p", "f1", "alt+t", "up", "tab"
        )
        await s.until(lambda: gateway.typed == b"ls A\r\x03\x1b\x11\x10\x1bOP\x1bt\x1b[A\t", gateway.typed.decode())
        view = pane(s).view
        await s.until(lambda: gateway.sizes.get("p1") == (view.size.width, view.size.height))
        await s.pilot.resize_terminal(100, 24)
        await s.until(lambda: gateway.sizes.get("p1") == (view.size.width, view.size.height) and view.size.height < 20)
        await s.pilot.press("ctrl+right_square_bracket")
        await s.until(lambda: pane(s).list.has_focus and "enter type" in s.text())
        await s.pilot.press("escape")
        await s.until(lambda: s.desk.prompt.has_focus)
        assert not gateway.asked_anything()


async def test_cursor_keys_and_pastes_are_what_the_program_wants() -> None:
    gateway, session = begun()
    gateway.terminal("p1", b"\x1b[?1h\x1b[?2004h", own=True, running=True, typeable=True)
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t")
        await s.until(lambda: getattr(pane(s).view.shown, "paste", False))
        await s.pilot.press("enter", "up")
        s.app.post_message(events.Paste("a\nb\x1b[201~"))
        await s.until(lambda: gateway.typed == b"\x1bOA\x1b[200~a\rb[201~\x1b[201~", str(gateway.typed))


async def test_whatever_a_worker_says_no_control_character_is_drawn() -> None:
    gateway, session = begun()
    gateway.terminal("p1", b"", own=True, running=True, typeable=True)
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t")
        await s.until(lambda: pane(s).view.shown is not None)
        rows = [[t.Cells("\x1b[31mred\x07\x9b2J", "no-colour\x1b[0m", "ff", 99)]] * 40
        pane(s).view.show(t.Shown(version=99, columns=10_000, rows=rows, cursor=(0, 3)))
        await s.until(lambda: "[31mred" in s.text())
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", s.text())


async def test_it_scrolls_back_and_typing_returns() -> None:
    gateway, session = begun()
    gateway.terminal("p1", b"".join(b"line %d\r\n" % n for n in range(200)), own=True, running=True, typeable=True)
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t")
        await s.until(lambda: "line 199" in s.text())
        await s.pilot.press("pageup", "pageup")
        await s.until(lambda: "line 199" not in s.text() and "lines back" in s.text())
        await s.pilot.press("end")
        await s.until(lambda: "line 199" in s.text())
        await s.pilot.press("enter", "shift+pageup")
        await s.until(lambda: "line 199" not in s.text())
        await s.pilot.press("x")
        await s.until(lambda: "line 199" in s.text() and gateway.typed == b"x")


async def test_a_running_one_is_closed_by_a_second_x_and_an_ended_one_gets_a_shell_on_enter() -> None:
    gateway, session = begun()
    gateway.terminal("t1", name="old", exit_code=0, command="make")
    gateway.terminal("p2", own=True, running=True, typeable=True)
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t")
        await s.until(lambda: pane(s).chosen == "p2")
        await s.pilot.press("x")
        await s.until(lambda: "x again ends it" in s.text())
        assert not gateway.asked(t.CloseTerminal)
        await s.pilot.press("x")
        await s.until(lambda: list(gateway.standing) == ["t1"] and pane(s).chosen == "t1")
        await s.pilot.press("enter")
        await s.until(lambda: gateway.asked(t.OpenTerminal)[-1].terminal == "t1" and pane(s).view.has_focus)


async def test_without_input_without_a_checkout_and_in_a_read_only_mode_it_says_so() -> None:
    gateway, session = begun(mode="plan")
    gateway.terminal("t1", running=True, command="make", typeable=False)
    gateway.errors[t.OpenTerminal] = RemoteError("This conversation has no checkout yet.", hint="Say something first.")
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+t", "enter")
        await s.until(lambda: "has no input" in s.text() and "In plan the agent runs no commands" in s.text())
        await s.pilot.press("n")
        await s.until(lambda: "no checkout yet" in s.text())
        gateway.errors[t.WatchTerminal] = RemoteError("The worker is busy.")
        await s.until(lambda: "The worker is busy" in s.text())
        del gateway.errors[t.WatchTerminal]
        await s.until(lambda: "t1" in s.text() and "worker is busy" not in s.text())
        await s.pilot.press("alt+t")
        asked = len(gateway.asked(t.WatchTerminal))
        await s.until(lambda: s.desk.prompt.has_focus)
        for _ in range(5):
            await s.pilot.pause(0.05)
        assert len(gateway.asked(t.WatchTerminal)) <= asked + 1, "nobody looks any more"


@pytest.mark.parametrize(("key", "character", "sent"), [
    ("a", "a", b"a"), ("A", "A", b"A"), ("é", "é", "é".encode()), ("ctrl+a", None, b"\x01"), ("alt+b", None, b"\x1bb"),
    ("ctrl+left", None, b"\x1b[1;5D"), ("shift+tab", None, b"\x1b[Z"), ("f5", None, b"\x1b[15~"), ("delete", None, b"\x1b[3~"),
    ("ctrl+alt+x", None, b"\x1b\x18"), ("full_stop", ".", b"."), ("super+q", "q", b""), ("f24", None, b""),
    ("backspace", None, b"\x7f"),
])  # fmt: skip
def test_keys_are_what_xterm_sends(key: str, character: str | None, sent: bytes) -> None:
    assert key_bytes(key, character) == sent


@given(st.text())
def test_neither_cells_nor_pastes_carry_a_control_sequence(text: str) -> None:
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", cells(text)) and len(cells(text)) == len(text)
    assert b"\x1b" not in pasted(text, bracketed=False)


@given(st.text(max_size=12), st.text(max_size=12), st.integers())
def test_colours_of_strangers_are_colours_or_none(fg: str, bg: str, style: int) -> None:
    look(t.Cells("x", fg, bg, style))


def test_a_line_fits_whatever_a_terminal_is_called() -> None:
    line = t.TerminalLine(id="t1", name="漢" * 30, command="x\x1b[31m" * 60, running=True, since_ms=4_000_000)
    assert line_of(line, 40).cell_length <= 40 and "\x1b" not in line_of(line, 40).plain
