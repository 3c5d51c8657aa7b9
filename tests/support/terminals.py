"""Terminals in every wall this machine has, without a worker around them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.toolhost.terminals import shell
from thetis_kernel.toolhost.terminals.calls import Terminals
from thetis_kernel.toolhost.terminals.pool import Pool
from thetis_kernel.toolhost.terminals.run import Run
from thetis_kernel.toolhost.terminals.terminal import Opener, Terminal
from thetis_kernel.walls.command import Command, Limits
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.session import Session, open_session
from thetis_kernel.walls.tier import Tier

from tests.support.turns import turn_context


def opener(tier: Tier, worktree: Path, helpers: Helpers, limits: Limits = Limits(), cwd: Path | None = None) -> Opener:
    """Opens shells that may write `worktree`."""

    def start(place: Path, size: tuple[int, int]) -> Session:
        command = Command(
            text="",
            cwd=cwd or worktree,
            writable=(worktree,),
            scratch=place,
            limits=limits,
            unwalled=tier.name == "none",
        )
        return open_session(tier, command, shell.program(place, worktree, cwd or worktree), size, helpers)

    return start


class Opened:
    """A terminal, and short ways to use it in a test."""

    def __init__(self, terminal: Terminal, ended: list[Run]) -> None:
        self.terminal = terminal
        self.ended = ended

    def run(self, text: str, timeout_s: float = 30.0, **more: Any) -> Run:
        """Run to its end."""
        return self.terminal.run(text, background=False, timeout_s=timeout_s, **more)

    def says(self, text: str, timeout_s: float = 30.0) -> str:
        """Its output."""
        return str(self.run(text, timeout_s).output()["output"])

    def start(self, text: str, timeout_s: float = 60.0) -> Run:
        """Start in the background."""
        return self.terminal.run(text, background=True, timeout_s=timeout_s)

    def until(self, words: str, within_s: float = 30.0) -> str:
        """Read until the screen or what was written holds `words`; all of it."""
        heard, stop = "", threading.Event()
        for _ in range(int(within_s / 0.2)):
            found = self.terminal.look()
            heard += str(found.get("new_output", ""))
            if words in heard or words in str(found.get("screen", "")):
                return heard + str(found.get("screen", ""))
            self.terminal.wait(0.2, stop, quiet_s=0.05)
        raise AssertionError(f"{words!r} never appeared in:\n{heard}\n{found.get('screen', '')}")

    def end(self, within_s: float = 30.0) -> dict[str, Any]:
        """Wait for the command's end; the last look."""
        self.terminal.wait(within_s, threading.Event())
        found = self.terminal.look()
        assert not found["running"], found
        return found


@contextmanager
def terminal(
    tier: Tier, worktree: Path, limits: Limits = Limits(), env: dict[str, str] | None = None
) -> Iterator[Opened]:
    """A terminal in `worktree`; closed at the end."""
    ended: list[Run] = []
    with Helpers() as helpers:
        made = Terminal("t1", "", opener(tier, worktree, helpers, limits), lambda _, run: ended.append(run))
        try:
            made.open(env or {})
            yield Opened(made, ended)
        finally:
            made.close()


class Turn:
    """A turn with terminals: operations by name, as the dispatcher runs them."""

    def __init__(self, base: Path, tier: Tier, pool: Pool | None = None, journal: Any = None, **place: Any) -> None:
        self.notices: list[str] = []
        self.context: TurnContext = turn_context(base)
        self.context.place = msgspec.structs.replace(self.context.place, **place)
        if journal is not None:
            self.context.journal = journal
        self.pool = pool or Pool(self.notices.append)
        worktree = base / "wt"
        self.helpers = Helpers()
        self.context.terminals = Terminals(self.pool, lambda cwd: opener(tier, worktree, self.helpers, cwd=cwd))

    def close(self) -> None:
        """End the terminals, and what started them."""
        self.pool.close_all("the test is over")
        self.helpers.close()

    def do(self, op: str, /, **arguments: Any) -> dict[str, Any]:
        """Perform `terminals.<op>`."""
        return perform(self.context, f"terminals.{op}", "c1", arguments)
