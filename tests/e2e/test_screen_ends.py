"""The screen on a real pty: stopped and continued, ended by signals, without colours, a large paste.

Complaint 78: whatever ends it, the terminal's modes are as they were.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import Terminal
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes
ALTERNATE = b"\x1b[?1049h"
MODES = (b"\x1b[?1049", b"\x1b[?1000", b"\x1b[?1003", b"\x1b[?2004")
"""Alternate screen, mouse (twice), bracketed paste: set with h, taken back with l."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.make_repository({"README.md": "# A project\n"})
    return world


@pytest.fixture
def terminal(world: World) -> Iterator[Terminal]:
    terminal = Terminal([world.thetis], world.repository, world.environ)
    yield terminal
    terminal.kill()


def given_back(raw: bytes) -> bool:
    return all(raw.rfind(mode + b"l") > raw.rfind(mode + b"h") for mode in MODES if mode + b"h" in raw)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_complaint_78_a_signal_gives_the_terminal_back(terminal: Terminal, number: signal.Signals) -> None:
    terminal.wait("rehearsal")
    os.kill(terminal.pid, number)
    terminal.finish(60)
    assert given_back(terminal.raw)


def job(terminal: Terminal) -> list[int]:
    """The launcher and the screen's own process."""
    children = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text()
    return [terminal.pid, *map(int, children.split()[:1])]


def stop(terminal: Terminal) -> None:
    """Stop the job, as ctrl+z in a shell does, and wait until a shell would have heard of it."""
    os.kill(terminal.pid, signal.SIGTSTP)
    while any(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T" for pid in job(terminal)):
        terminal.read()


def go_on(terminal: Terminal) -> int:
    """Continue the job, as `fg` does; where in the raw output that was."""
    before = len(terminal.raw)
    for pid in job(terminal):
        os.kill(pid, signal.SIGCONT)
    while ALTERNATE not in terminal.raw[before:]:
        terminal.read()
    return before


def test_it_stops_and_goes_on_where_it_was(terminal: Terminal) -> None:
    terminal.wait("rehearsal")
    terminal.type("half a word")
    terminal.wait("half a word")
    stop(terminal)
    while not given_back(terminal.raw):
        terminal.read()
    before = go_on(terminal)
    terminal.type(" more")
    terminal.wait("half a word more")
    assert b"rehearsal" in terminal.raw[before:], "the other screen was given back empty"


def test_what_is_typed_while_it_is_stopped_is_there(terminal: Terminal) -> None:
    terminal.wait("rehearsal")
    for number in range(3):
        stop(terminal)
        terminal.type(f"while{number} ")
        go_on(terminal)
        terminal.type(f"after{number} ")
        terminal.wait(f"while{number} after{number}")


def test_it_may_be_called_back_before_it_has_stopped(terminal: Terminal) -> None:
    """The second signal came while the first was still being carried out: it stopped for good."""
    terminal.wait("rehearsal")
    before = len(terminal.raw)
    os.kill(terminal.pid, signal.SIGTSTP)
    while b"\x1b[?2004l" not in terminal.raw[before:]:
        terminal.read()
    for pid in job(terminal):
        os.kill(pid, signal.SIGCONT)
    terminal.type("back again")
    terminal.wait("back again")


def test_being_continued_twice_changes_nothing(terminal: Terminal) -> None:
    """One thread reads keys, and the modes that are given back in the end are the terminal's own."""
    before = termios.tcgetattr(terminal.descriptor)
    terminal.wait("rehearsal")
    stop(terminal)
    go_on(terminal)
    for _ in range(2):
        os.kill(terminal.pid, signal.SIGCONT)
    for pid in job(terminal):
        os.kill(pid, signal.SIGSTOP)
    for pid in reversed(job(terminal)):
        os.kill(pid, signal.SIGCONT)
    terminal.type("one\x1b[D\x1b[D\x1b[Dtwo ")
    terminal.wait("two one")
    terminal.type("\x11")
    terminal.finish(30)
    assert termios.tcgetattr(terminal.descriptor)[:4] == before[:4]


def test_without_colours_only_greys_are_drawn(world: World) -> None:
    terminal = Terminal([world.thetis], world.repository, {**world.environ, "NO_COLOR": "1"})
    try:
        terminal.wait("rehearsal")
        colours = set(re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", terminal.raw))
        assert all(red == green == blue for red, green, blue in colours)
    finally:
        terminal.kill()


def test_a_paste_of_a_megabyte_is_a_chip_and_is_sent_whole(world: World, terminal: Terminal) -> None:
    terminal.wait("rehearsal")
    line = "a line of a long log that somebody pastes\r"
    terminal.type("\x1b[200~")
    for _ in range(250):
        terminal.type(line * 100)
        terminal.read()
    terminal.type("\x1b[201~")
    terminal.wait("25001 lines", 60)
    terminal.type(" what is this?")
    terminal.wait("what is this?")


def test_a_terminal_that_is_gone_without_a_signal_ends_it(world: World) -> None:
    """The system tells of a hang-up only who has the terminal as the controlling one; reading its end for ever costs a core."""
    ours, theirs = os.openpty()
    screen = subprocess.Popen([world.thetis], cwd=world.repository, env={**world.environ, "TERM": "xterm-256color"},
                              stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        seen = b""
        while ALTERNATE not in seen:
            seen += os.read(ours, 4096)
        os.close(ours)
        screen.wait(60)
    finally:
        screen.kill()
