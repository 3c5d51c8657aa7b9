"""The screen as a person meets it: the real program on a real pty, the real gateway behind it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import Terminal
from tests.support.thetis import THETIS, World, fingerprint

pytestmark = pytest.mark.runtimes
CTRL_Q, ESC = "\x11", "\x1b"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n\nShips and berths.\n", "src/harbour.py": "pier = 1\n"})
    return made


@pytest.fixture
def terminal(world: World) -> Iterator[Terminal]:
    opened = Terminal([THETIS], world.repository, world.environ)
    yield opened
    opened.kill()


def test_talk_quit_come_back(world: World, terminal: Terminal) -> None:
    before = fingerprint(world.repository)
    terminal.type("what is in this repository?\r")  # typed before anything is painted: not lost
    terminal.wait("Done ·")
    assert "Ships and berths" in terminal.text() and "rehearsal" in terminal.text()
    terminal.type("replace pier = 1 with pier = 2 in src/harbour.py\r")
    terminal.wait("pier = 2")
    terminal.wait("Committed")
    terminal.wait("3 steps · 2 calls")
    terminal.type(CTRL_Q)
    assert terminal.finish() == 0
    assert fingerprint(world.repository) == before
    [line] = json.loads(world.run("ls", "--json").stdout)
    assert line["state"] == "idle" and "pier = 2" in world.git("show", f"{line['branch']}:src/harbour.py")
    again = Terminal([THETIS, "--conversation", line["id"][:8]], world.repository, world.environ)
    try:
        again.wait("pier = 2")
        again.type(CTRL_Q)
        assert again.finish() == 0
    finally:
        again.kill()


def test_escape_stops_at_once(world: World, terminal: Terminal) -> None:
    terminal.wait("Thetis")
    terminal.type("run sleep 60\r")
    terminal.wait("sleep 60")
    terminal.wait("conv/")
    terminal.type(ESC)
    terminal.wait("Stopped")
    terminal.type("list\r")
    terminal.wait("Done ·")


def test_a_second_screen_takes_over_when_the_first_one_dies(world: World, terminal: Terminal) -> None:
    terminal.wait("ctrl+p commands")
    second = Terminal([THETIS], world.repository, world.environ)
    try:
        second.type("what is in this repository?\r")
        second.wait("Done ·")  # through the first one's gateway
        terminal.kill()
        second.type("replace pier = 1 with pier = 2 in src/harbour.py\r")
        second.wait("Committed")  # by a gateway of its own
        assert "reconnecting" not in second.text() and "is gone" not in second.text()
        second.type(CTRL_Q)
        assert second.finish() == 0
    finally:
        second.kill()


def test_the_terminal_is_given_back(world: World, terminal: Terminal) -> None:
    terminal.wait("Thetis")
    terminal.type(CTRL_Q)
    assert terminal.finish() == 0
    assert terminal.raw.rstrip().find(b"\x1b[?1049l") > 0  # the alternate screen was left
    for mode in (b"1000", b"1003", b"2004"):  # mouse and paste modes too
        assert terminal.raw.rfind(b"\x1b[?" + mode + b"l") > terminal.raw.rfind(b"\x1b[?" + mode + b"h")


def test_a_hang_up_detaches_and_loses_nothing(world: World, terminal: Terminal) -> None:
    """The turn goes on without a screen; what stops that gateway parks it, and each turn has its one end."""
    terminal.wait("Thetis")
    terminal.type("rehearse: slow 60000 ms\r")
    terminal.wait("conv/")
    os.kill(terminal.pid, signal.SIGHUP)
    terminal.finish()
    try:
        seen = json.loads(world.run("daemon", "status", "--json").stdout)
        assert (seen["holder"], seen["running"]) == ("detached", 1)
    finally:
        world.run("daemon", "stop", "--now")
    [line] = json.loads(world.run("ls", "--json").stdout)
    log = world.log(line["id"])
    assert [e["kind"] for e in log].count("turn-finished") == [e["kind"] for e in log].count("turn-started") == 1
    assert [e["body"]["stopped_by"] for e in log if e["kind"] == "turn-finished"] == ["restarted"]


def test_text_of_strangers_does_not_steer_the_terminal(world: World, terminal: Terminal) -> None:
    world.write({"evil.txt": b"\x1b]52;c;aGVsbG8=\x07\x1b[2J\x1b[31mred\x9b5n [bold]not markup[/bold]\n"})
    world.git("add", "-A")
    world.git("commit", "-qm", "evil")
    terminal.wait("Thetis")
    terminal.type("read evil.txt\r")
    terminal.wait("[bold]not markup[/bold]")
    assert b"\x1b]52" not in terminal.raw and b"aGVsbG8=\x07" not in terminal.raw


def test_a_storm_of_sizes(world: World, terminal: Terminal) -> None:
    terminal.wait("Thetis")
    terminal.type("what is in this repository?\r")
    for columns, rows in [(80, 24), (20, 5), (200, 60), (40, 10), (120, 40)] * 3:
        terminal.resize(columns, rows)
        terminal.type("")
    terminal.wait("Done ·")
    terminal.type(CTRL_Q)
    assert terminal.finish() == 0


def test_without_a_terminal_it_says_what_to_use(world: World) -> None:
    done = world.run(check=False)
    assert done.returncode == 2 and "thetis run" in done.stderr


def test_outside_a_repository_it_offers_to_make_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository.mkdir()
    (world.repository / "mine.txt").write_text("mine\n")
    for answer in ("n", "y"):
        terminal = Terminal([THETIS], world.repository, world.environ)
        try:
            terminal.wait("[y/N]")
            terminal.type(answer + "\r")
            if answer == "n":
                assert terminal.finish() == 2 and not (world.repository / ".git").exists()
                continue
            terminal.wait("/ for commands")
            terminal.type("list\r")
            terminal.wait("Done ·")
        finally:
            terminal.kill()
    assert world.git("status", "--porcelain").strip() == "?? mine.txt"


def test_alt_with_a_digit_or_a_letter_on_a_terminal_of_the_old_kind(world: World, terminal: Terminal) -> None:
    terminal.wait("ctrl+p commands")
    terminal.type("replace pier = 1 with pier = 2 in src/harbour.py\r")
    terminal.wait("Done ·")
    terminal.type("\x0e")  # ctrl+n
    terminal.wait("Go on with")
    terminal.type("\x1b1")
    terminal.wait("pier = 2")
    terminal.type("\x1bd")
    terminal.wait("Changed · 1 file")
    assert "src/harbour.py" in terminal.text()
    terminal.type("\r")
    terminal.wait("1 file changed · +1 -1")
    terminal.type(ESC)
    terminal.wait("enter its change")
    terminal.type("\x1bd")
    terminal.wait("New conversation")  # the list has its place again
    assert "Changed ·" not in terminal.text() and "│ d" not in terminal.text(), "nothing of it was typed"
