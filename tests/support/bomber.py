"""A fork bomb in a terminal, by a user whose processes the kernel counts: what happened, as one line of JSON.

`python -m tests.support.bomber TIER PLACE UID`. Started as root it becomes UID for good before anything else; UID has no
process of its own. PLACE: an empty directory of that user. A limit on that user's processes stands around everything.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from thetis_kernel.walls import helper, probe, tree
from thetis_kernel.walls.command import Limits
from thetis_kernel.walls.tier import Tier

from tests.support.terminals import Opened, terminal
from tests.support.walls import SYSTEM_PYTHON, wait_until

THREADS = 60
"""Of a command."""
AROUND = 1000
"""Threads of the user at most, whatever the walls do: far below what a machine has."""


def become(uid: int, place: Path) -> None:
    """This process, for good: another user with few processes, and helpers that user can start."""
    kernel = place / "kernel" / "thetis_kernel"
    source = Path(helper.__file__).resolve().parents[1]
    kernel.mkdir(parents=True)
    shutil.copy(source / "__init__.py", kernel)
    shutil.copytree(source / "walls", kernel / "walls", ignore=shutil.ignore_patterns("__pycache__"))
    helper._KERNEL = str(kernel.parent)  # the checkout may lie in root's home
    resource.setrlimit(resource.RLIMIT_NPROC, (AROUND, AROUND))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        sys.executable = SYSTEM_PYTHON
    os.chdir(place)


class Watch:
    """The most processes `uid` had at once, from now on."""

    def __init__(self, uid: int) -> None:
        self.most = 0
        self._uid = uid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> int:
        self._over.set()
        self._thread.join()
        return self.most

    def _look(self) -> None:
        while not self._over.wait(0.005):
            self.most = max(self.most, len(processes(self._uid)))


def processes(uid: int) -> list[int]:
    """Living processes of the user. Their directories in /proc are the user's as long as they may be looked at."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid and tree._stat(int(name))[1]:
                found.append(int(name))
        except OSError:
            continue
    return found


def tried(opened: Opened, uid: int) -> dict[str, Any]:
    """First what can do no harm and must be ended; only then the bomb."""
    limit = int(opened.says("ulimit -u"))
    harmless = opened.run(f"for i in $(seq {THREADS * 3}); do sleep 61.5 & done; wait", timeout_s=20.0)
    gone = wait_until(lambda: len(processes(uid)) < THREADS)
    told: dict[str, Any] = {"limit": limit, "harmless": harmless.code, "gone": gone}
    if limit >= AROUND or harmless.code == 0 or not gone:
        return told
    watch = Watch(uid)
    bomb = opened.run(":(){ :|:& };:; wait", timeout_s=5.0)
    told |= {"done": bomb.done, "most": watch.end(), "left": wait_until(lambda: len(processes(uid)) < THREADS)}
    return told | {"over": opened.says("echo over"), "again": opened.says("cd /; sleep 0.01 & wait; pwd")}


def main(name: str, place: Path, uid: int) -> None:
    """Print what happened; {"tier": ""} when that user has no such wall here."""
    become(uid, place)
    found: Tier | None = (probe.find_bubblewrap(os.environ["PATH"]) if name == "bubblewrap" else probe.find_landlock())[
        0
    ]
    if found is None:
        print(json.dumps({"tier": ""}))
        return
    worktree = place / "wt"
    worktree.mkdir()
    with terminal(found, worktree, Limits(threads=THREADS)) as opened:
        told = tried(opened, os.geteuid())
    mine = os.getpid()
    told["after"] = wait_until(lambda: processes(os.geteuid()) in ([mine], []))
    print(json.dumps({"tier": name} | told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
