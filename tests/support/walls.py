"""Running commands in every wall this machine has: the tiers, a worktree, and who is still alive.

A test names `tier` (or `walled`, without "none") and `bench`; one body runs over every tier that works here.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from thetis_kernel.walls import probe
from thetis_kernel.walls.command import Command, CommandResult
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier

_FOUND = {"bubblewrap": probe.find_bubblewrap(os.environ.get("PATH", "")), "landlock": probe.find_landlock()}
WALLED = [tier for tier, _ in _FOUND.values() if tier is not None]
BARE = Tier(name="none", sentence="There is no wall for commands here.", hint="apt install bubblewrap")
SYSTEM_PYTHON = next((p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(p).exists()), "")

every_tier = pytest.mark.parametrize("tier", [*WALLED, BARE], ids=lambda tier: tier.name)
every_wall = pytest.mark.parametrize("tier", WALLED, ids=lambda tier: tier.name)


class Bench:
    """A worktree and a place outside it, and `run` with both in a command."""

    def __init__(self, place: Path, helpers: Helpers) -> None:
        self.helpers = helpers
        self.place = place.resolve()
        self.worktree = self.place / "state" / "worktree"
        self.outside = self.place / "outside"
        self.worktree.mkdir(parents=True)
        self.outside.mkdir()

    def command(self, text: str, **more: object) -> Command:
        fields: dict[str, object] = {"cwd": self.worktree, "writable": (self.worktree,), "timeout_ms": 30_000}
        return Command(text=text, **(fields | more))  # type: ignore[arg-type]

    def run(self, tier: Tier, text: str, **more: object) -> CommandResult:
        listener = more.pop("on_output", None)
        cancel = more.pop("cancel", None)
        command = self.command(text, unwalled=tier.name == "none", **more)
        return Runner(tier, self.helpers).run(command, listener, cancel)  # type: ignore[arg-type]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Helpers() as helpers:
        yield Bench(tmp_path, helpers)


@pytest.fixture
def mark() -> str:
    """A number of seconds nobody else sleeps: `sleep MARK` is found by its command line."""
    return f"{60 + secrets.randbelow(30)}.{secrets.randbelow(10**12):012d}"


def alive(mark: str) -> list[int]:
    """Processes with `mark` as one of their arguments (also inside other pid namespaces)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(entry.name))
    return found


def children(pid: int) -> list[int]:
    """Living processes whose parent is `pid`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != b"Z":
                found.append(int(entry.name))
    return found


def nursery() -> int:
    """The process that forks this one's helpers; the test has used one `Helpers`."""
    [found] = [
        pid for pid in children(os.getpid()) if b"walls import nursery" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return found


def helpers_of(nursery: int) -> list[int]:
    """The helpers of the commands and terminals that run now."""
    return children(nursery)


def wait_until(what: Callable[[], object], within_s: float = 10.0) -> bool:
    """Look until `what` is true; False when it is not in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.01)
    return bool(what())


UNTIL_SEEN = "until test -e seen; do sleep 0.01; done"
"""The end of a command that is looked at while it runs, by `seen` on a busy machine as late as it may be."""


def seen(bench: Bench) -> None:
    """Let a command that ends in UNTIL_SEEN end."""
    (bench.worktree / "seen").touch()


#: A worker in miniature: runs one command and says what came back. Arguments: tier name, worktree, command.
WORKER = """
import sys, threading
from pathlib import Path
from thetis_kernel.walls import probe
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier
name, worktree, text = sys.argv[1:]
tier = {"bubblewrap": lambda: probe.find_bubblewrap()[0], "landlock": lambda: probe.find_landlock()[0],
        "none": lambda: Tier(name="none", sentence="")}[name]()
root = Path(worktree)
def work():
    result = Runner(tier, Helpers()).run(Command(text=text, cwd=root, writable=(root,), unwalled=name == "none"))
    print(result.output, end="")
thread = threading.Thread(target=work, daemon=True)
thread.start()
thread.join()
"""


def worker(tier: Tier, worktree: Path, text: str) -> list[str]:
    """The command line of a process that runs `text` in `tier` from a daemon thread."""
    return [sys.executable, "-c", WORKER, tier.name, str(worktree), text]
