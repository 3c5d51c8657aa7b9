"""What the walls cost: a command's start over a bare one, a terminal's opening, a command in an open terminal.

`python -m bench.walls`
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from thetis_kernel.toolhost.terminals import shell
from thetis_kernel.toolhost.terminals.terminal import Terminal
from thetis_kernel.walls import probe
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.session import Session, open_session
from thetis_kernel.walls.tier import Tier

from bench.report import emit

FIGURES = ["walls_start_ms", "terminal_open_ms", "terminal_run_ms", "terminal_output_mb_per_s"]
ROUNDS = 40


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def start(tier: Tier, worktree: Path) -> None:
    """A walled `true` against a bare one in turns, so that a busy moment falls on both."""
    command = Command(text="true", cwd=worktree, writable=(worktree,))
    bare, walled = [], []
    with Helpers() as helpers:
        runner = Runner(tier, helpers)
        first = timed(lambda: runner.run(command))
        for _ in range(ROUNDS):
            bare.append(timed(lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True)))
            walled.append(timed(lambda: runner.run(command)))
    over = sorted(one - statistics.median(bare) for one in walled)
    emit(
        "walls_start_ms",
        statistics.median(over),
        "ms",
        ROUNDS,
        over[int(ROUNDS * 0.95)],
        against=f"a bare shell's {statistics.median(bare):.1f} ms in {tier.name}; goal 40; a worker's first {first:.0f}",
    )


def terminals(tier: Tier, worktree: Path, helpers: Helpers) -> None:
    """Opening, running `true`, and taking in 64 MiB of lines."""

    def opener(place: Path, size: tuple[int, int]) -> Session:
        command = Command(text="", cwd=worktree, writable=(worktree,), scratch=place)
        return open_session(tier, command, shell.program(place, worktree, worktree), size, helpers)

    opened: list[float] = []
    for _ in range(ROUNDS // 4):
        terminal = Terminal("t1", "", opener, lambda *_: None)
        opened.append(timed(lambda one=terminal: one.open({})))
        terminal.close()
    emit("terminal_open_ms", statistics.median(opened), "ms", len(opened), max(opened), against=tier.name)
    terminal = Terminal("t1", "", opener, lambda *_: None)
    try:
        terminal.open({})
        runs = [timed(lambda: terminal.run("true", background=False, timeout_s=60)) for _ in range(ROUNDS)]
        bare = [timed(lambda: subprocess.run(["/bin/bash", "-c", "true"], check=True)) for _ in range(ROUNDS)]
        emit(
            "terminal_run_ms",
            statistics.median(runs),
            "ms",
            ROUNDS,
            sorted(runs)[int(ROUNDS * 0.95)],
            against=f"a bare bash's {statistics.median(bare):.1f} ms",
        )
        lines = "yes 'a line of sixty-four characters, as long as those of a busy build' | head -c 67108864"
        took = timed(lambda: terminal.run(lines, background=False, timeout_s=300))
        emit("terminal_output_mb_per_s", 64 / (took / 1000), "MiB/s", 1)
    finally:
        terminal.close()


def main() -> None:
    """All of them, in the best tier of this machine."""
    tier = probe.probe()
    with tempfile.TemporaryDirectory() as place:
        worktree = Path(place).resolve() / "wt"
        worktree.mkdir()
        start(tier, worktree)
        with Helpers() as helpers:
            terminals(tier, worktree, helpers)


if __name__ == "__main__":
    main()
