"""The screen on a real pty: stopped and continued, ended by signals, without colours, a large paste.

Complaint 78: whatever ends it, the terminal's modes are as they were.
"""

from __future__ import annotations

import os
import re
import signal
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


def test_it_stops_and_goes_on_where_it_was(terminal: Terminal) -> None:
    terminal.wait("rehearsal")
    terminal.type("half a word")
    terminal.wait("half a word")
    os.kill(terminal.pid, signal.SIGTSTP)
    while not given_back(terminal.raw):
        terminal.read()
    before = len(terminal.raw)
    os.kill(terminal.pid, signal.SIGCONT)
    while ALTERNATE not in terminal.raw[before:]:
        terminal.read()
    terminal.wait("half a word")
    terminal.type(" more")
    terminal.wait("half a word more")


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
