"""Nobody outlives a command: not when its worker is killed, not when its helper is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel.walls.tier import Tier

from tests.support.walls import (
    UNTIL_SEEN,
    Bench,
    alive,
    bench,
    every_tier,
    every_wall,
    helpers_of,
    mark,
    nursery,
    seen,
    wait_until,
    worker,
)

__all__ = ["bench", "mark"]

#: A child in the background, one in a session of its own, one forked twice, one that ignores every signal it can.
TREE = (
    "sleep {mark} & setsid sleep {mark} & (setsid sh -c 'sleep {mark} & exec sleep {mark}' &) ; "
    "(trap '' HUP INT TERM; sleep {mark}) & echo begun; sleep {mark}"
)
_GONE_WITHIN_S = 2.0


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
@every_tier
def test_when_the_worker_is_killed_everything_below_it_goes(
    tier: Tier, bench: Bench, mark: str, stopped: bool, tmp_path: Path
) -> None:
    private = tmp_path / "tmp"
    private.mkdir()
    command = worker(tier, bench.worktree, TREE.format(mark=mark))
    process = subprocess.Popen(command, env=dict(os.environ) | {"TMPDIR": str(private)}, stdout=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: len(alive(mark)) >= 6, within_s=30)
        if stopped:
            process.send_signal(signal.SIGSTOP)
    finally:
        process.kill()
        process.wait()

    assert wait_until(lambda: not alive(mark), _GONE_WITHIN_S)
    assert wait_until(lambda: not list(private.glob("thetis-walls-*")))


@every_tier
def test_the_helper_has_no_environment(tier: Tier, bench: Bench) -> None:
    """Without walls a command can read the environment of every process of its user; the helper's is empty."""
    environments: list[bytes] = []

    def look(_: str) -> None:
        pids = [nursery(), *helpers_of(nursery())]
        environments.extend((Path("/proc") / str(pid) / "environ").read_bytes() for pid in pids)
        seen(bench)

    bench.run(tier, f"echo begun; {UNTIL_SEEN}", on_output=look)

    assert len(environments) == 2
    assert set(b"".join(environments).split(b"\0")) <= {b"", b"LC_CTYPE=C.UTF-8"}  # the interpreter's own choice


@every_wall
def test_when_the_helper_is_killed_the_result_says_so(tier: Tier, bench: Bench, mark: str) -> None:
    def kill_helper(_: str) -> None:
        for pid in helpers_of(nursery()):
            os.kill(pid, signal.SIGKILL)

    result = bench.run(tier, f"echo begun; exec sleep {mark}", on_output=kill_helper)

    assert result.exit_code == 137
    assert result.notes == ("The command's supervisor failed (it was killed); what it did is unknown.",)
    assert wait_until(lambda: not alive(mark), _GONE_WITHIN_S)


def test_the_helper_starts_without_the_sites_packages() -> None:
    """A conversation's first command waits for it, so what it imports is counted: no typing, subprocess, msgspec."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from thetis_kernel.walls import nursery; "
        "print(sorted({'typing', 'dataclasses', 'subprocess', 'msgspec', 'asyncio', 'inspect'} & set(sys.modules)))"
    )
    kernel = str(Path(__file__).resolve().parents[2] / "kernel")

    seen = subprocess.run([sys.executable, "-I", "-S", "-c", code, kernel], capture_output=True, text=True, check=True)

    assert seen.stdout == "[]\n"
