"""The gateway is SIGKILLed: its workers, whatever they do, are gone within a second, the children of commands within two."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.gateway_holder import sleepers
from tests.support.thetis import World, kinds

pytestmark = pytest.mark.runtimes
SLEEPS = {996, 997, 998}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone_after(found: object, seconds: float) -> float:
    """Seconds until `found()` is empty; fails at the deadline."""
    started = time.monotonic()
    while left := found():  # type: ignore[operator]
        assert time.monotonic() - started < seconds, f"still there after {seconds} s: {left}"
        time.sleep(0.005)
    return time.monotonic() - started


def test_nothing_outlives_a_killed_gateway(tmp_path: Path) -> None:
    assert not sleepers(SLEEPS), "left over from another run"
    World(tmp_path).make_repository({"README.md": "# x\n"})
    child = subprocess.Popen([sys.executable, "-m", "tests.support.gateway_holder", str(tmp_path)], stdout=subprocess.PIPE,
                             text=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    try:
        assert child.stdout is not None
        pids = json.loads(child.stdout.readline())
        workers = pids["workers"] + pids["others"]
        assert len(pids["workers"]) == 10 and all(alive(pid) for pid in workers)
        os.kill(child.pid, signal.SIGKILL)
        # The limits of the promise, with room for a machine that is busy with something else.
        gone_after(lambda: [pid for pid in workers if alive(pid)], 1.0 * room())
        gone_after(lambda: sleepers(SLEEPS), 2.0 * room())
    finally:
        child.kill()
        child.wait()
        for pid in sleepers(SLEEPS):
            os.kill(pid, signal.SIGKILL)
    # And the next start finds every turn closed.
    world = World(tmp_path)
    for line in json.loads(world.run("ls", "--json").stdout):
        log = world.log(line["id"])
        assert kinds(log).count("turn-started") == kinds(log).count("turn-finished")
        assert kinds(log).count("tool-invocation") == kinds(log).count("tool-result")


def room() -> float:
    """How many times longer things take when more runs than there are processors."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
