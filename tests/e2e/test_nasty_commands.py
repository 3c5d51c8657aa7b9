"""Two hundred nasty commands in one terminal each family: bounded, nothing outside changed, the shell still usable.

What forks is limited twice: the population of each command is bounded by itself, and the limit of the walls is tried on
a harmless one first. The classic fork bomb runs only where the kernel itself counts processes: for an ordinary user.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.toolhost.terminals.run import OUTPUT_BYTES
from thetis_kernel.walls.command import Limits
from thetis_kernel.walls.tier import Tier

from tests.support.bomber import AROUND, processes
from tests.support.nasty import FAMILIES, filled
from tests.support.terminals import Opened, terminal
from tests.support.walls import SYSTEM_PYTHON, every_wall

TIME_S = 2.0
WITHIN_S = 45.0
"""A command of TIME_S, a driver that is stuck (10 s), a loaded machine."""
THREADS = 60
FEW = {"ends": 0, "left behind": 8, "output": 6, "input": 6, "directory": 1, "modes": 0, "git": 7, "paths": 5, "state": 0,
       "resources": 2, "signals": 0}  # fmt: skip
"""One of each family for every run."""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "outside"
    made.mkdir()
    (made / "precious").write_text("precious\n")
    return made


@pytest.fixture
def opened(tier: Tier, tmp_path: Path) -> Iterator[Opened]:
    worktree = tmp_path.resolve() / "state" / "wt"
    worktree.mkdir(parents=True)
    (worktree / ".git").write_text("gitdir: /nowhere\n")
    with terminal(tier, worktree, Limits(threads=THREADS, spill_bytes=1 << 20)) as made:
        yield made


def contents(place: Path) -> dict[str, bytes]:
    """Every name below `place`, and what its file holds."""
    return {str(path.relative_to(place)): path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            for path in place.rglob("*")}  # fmt: skip


def survives(opened: Opened, command: str, outside: Path, worktree: Path) -> None:
    before = contents(outside)
    text = filled(command, str(outside), SYSTEM_PYTHON or "python3", "${HOME%/*}/shell")
    started = time.monotonic()
    run = opened.run(text, timeout_s=TIME_S)
    assert len(run.output()["output"]) <= OUTPUT_BYTES + 200, command
    assert contents(outside) == before, command
    assert (worktree / ".git").read_text() == "gitdir: /nowhere\n", command
    alive = opened.run(
        "\\unalias -a; unset -f echo printf builtin command eval mv cd; builtin echo alive-$((6*7)); set +xv"
    )
    assert "alive-42" in alive.output()["output"], (command, run.trouble(), alive.output(), alive.trouble())
    assert time.monotonic() - started < WITHIN_S, command
    reset = opened.run('IFS=" "; PATH=/usr/bin:/bin; set +efu; cd "$OLDPWD" 2>/dev/null; true')
    assert reset.done


@every_wall
@pytest.mark.parametrize("family", FAMILIES)
def test_one_of_each_family(tier: Tier, opened: Opened, outside: Path, tmp_path: Path, family: str) -> None:
    survives(opened, FAMILIES[family][FEW[family]], outside, tmp_path.resolve() / "state" / "wt")


@pytest.mark.slow
@pytest.mark.timeout(900)
@every_wall
@pytest.mark.parametrize("family", FAMILIES)
def test_all_of_a_family(tier: Tier, opened: Opened, outside: Path, tmp_path: Path, family: str) -> None:
    for command in FAMILIES[family]:
        survives(opened, command, outside, tmp_path.resolve() / "state" / "wt")


def test_they_are_two_hundred() -> None:
    assert sum(map(len, FAMILIES.values())) >= 200


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A directory of a user the kernel counts processes of, and that user: root is not counted, so root needs another."""
    if os.geteuid():
        yield tmp_path.resolve(), os.geteuid()
        return
    uid = 30_000 + secrets.randbelow(20_000)
    assert not processes(uid)
    place = Path(tempfile.mkdtemp(prefix="bomb-", dir="/tmp"))  # pytest's own are closed to others
    try:
        os.chown(place, uid, uid)
        yield place, uid
    finally:
        shutil.rmtree(place)


@every_wall
def test_a_fork_bomb(tier: Tier, ours: tuple[Path, int]) -> None:
    """As root, too: there the terminal is another user's. Never more processes than the wall's limit, and all is well after."""
    place, uid = ours
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(place), "HOME": str(place)}
    words = [sys.executable, "-m", "tests.support.bomber", tier.name, str(place), str(uid)]
    ran = subprocess.run(words, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    if not told["tier"]:
        pytest.skip(f"an ordinary user has no {tier.name} here")
    assert told["harmless"] != 0 and told["gone"], "the limit does not hold; nothing worse was tried"
    assert told["done"] and told["left"] and told["after"]
    assert 1 < told["most"] <= told["limit"] < AROUND
    assert (told["over"], told["again"]) == ("over\n", "/\n")
