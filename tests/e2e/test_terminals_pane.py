"""The terminals' pane on a real pty: a shell of one's own, keys that are the program's, one way out, nothing gets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.terminal import Terminal
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes


def test_a_person_works_in_a_terminal_of_the_conversation(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# A project\n"})
    terminal = Terminal([world.thetis], world.repository, world.environ)
    try:
        terminal.wait("rehearsal")
        terminal.type("in a terminal run echo of-the-agent\r")
        terminal.wait("Done", 60)
        terminal.type("\x1bt")
        terminal.wait("Terminals · 1")
        terminal.wait("enter type")
        terminal.type("n")
        terminal.wait("all other keys are the program's")
        terminal.type(
            "printf '\\033]52;c;c3RvbGVu\\007\\033]0;stolen-title\\007\\033[?1006l'; ls; echo done-$((40+2))\r"
        )
        terminal.wait("README.md")
        terminal.wait("done-42")
        assert b"c3RvbGVu\x07" not in terminal.raw and b"\x1b]0;stolen" not in terminal.raw
        terminal.type("echo begun-$((40+4)); sleep 1000\r")
        terminal.wait("begun-44")
        terminal.type("\x03")
        terminal.wait("^C")
        terminal.type("echo after-$((40+3))\r")
        terminal.wait("after-43")
        terminal.type("\x1d")
        terminal.wait("enter type")
        terminal.type("xx")
        terminal.wait("Terminals · 1")
        terminal.type("\x1bt\x11")
        assert terminal.finish(60) == 0
    finally:
        terminal.kill()
