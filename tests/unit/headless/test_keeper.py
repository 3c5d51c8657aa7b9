"""What starts again and what does not; the process a shell waits for. Each in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

KEEP = """
import os, signal, sys
from pathlib import Path
from thetis_kernel.cli.keeper import keep
log = Path(sys.argv[1])
def work(again):
    with log.open("a") as file: file.write(f"{int(again)} {os.environ.get('A_KEY', '')}\\n")
    runs = len(log.read_text().splitlines())
    end = sys.argv[2:][min(runs, len(sys.argv) - 2) - 1]
    if end.startswith("-"): os.kill(os.getpid(), -int(end))
    return int(end)
sys.exit(keep(work))
"""


def kept(tmp_path: Path, *ends: int) -> tuple[int, list[str]]:
    log = tmp_path / "log"
    log.touch()
    done = subprocess.run([sys.executable, "-I", "-c", KEEP, str(log), *map(str, ends)], timeout=60, check=False,
                          env={**os.environ, "A_KEY": "there"})
    return done.returncode, log.read_text().splitlines()


@pytest.mark.parametrize(("ends", "status", "runs"), [
    ((0,), 0, 1),
    ((1,), 1, 1),
    ((-9, 0), 0, 2),
    ((70, -11, 0), 0, 3),
    ((-9,), 70, 4),
])
def test_only_what_was_killed_is_started_again(tmp_path: Path, ends: tuple[int, ...], status: int, runs: int) -> None:
    assert kept(tmp_path, *ends) == (status, ["0 there", *["1 there"] * (runs - 1)])


LAUNCH = """
import os, sys, time
from thetis_kernel.cli.launcher import launched
def work(let_go):
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    let_go()
    time.sleep(60)
    return 0
sys.exit(launched(work))
"""


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.fixture
def launcher() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-I", "-c", LAUNCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "A_KEY": "do-not-show-1234"})


def test_letting_go_ends_the_job_and_not_the_work(launcher: subprocess.Popen[str]) -> None:
    assert launcher.stdin is not None and launcher.stdout is not None
    child = int(launcher.stdout.readline())
    try:
        assert b"do-not-show-1234" not in Path(f"/proc/{launcher.pid}/environ").read_bytes()
        assert b"do-not-show-1234" in Path(f"/proc/{child}/environ").read_bytes(), "the gateway takes it out itself"
        launcher.stdin.write("\n")
        launcher.stdin.flush()
        assert launcher.wait(20) == 0
        assert not gone(child)
        assert os.getsid(child) == child, "no terminal can reach it"
    finally:
        os.kill(child, signal.SIGKILL)
        launcher.communicate()


def test_who_kills_the_launcher_means_the_screen(launcher: subprocess.Popen[str]) -> None:
    assert launcher.stdout is not None
    child = int(launcher.stdout.readline())
    launcher.kill()
    launcher.wait(20)
    deadline = 200
    while not gone(child) and deadline:
        deadline -= 1
        subprocess.run(["sleep", "0.05"], check=True)
    assert gone(child)
    launcher.communicate()


def test_it_ends_as_the_screen_does(launcher: subprocess.Popen[str]) -> None:
    assert launcher.stdout is not None
    os.kill(int(launcher.stdout.readline()), signal.SIGTERM)
    assert launcher.wait(20) == -signal.SIGTERM
    launcher.communicate()
