"""Limits on a whole command, where the kernel's control groups (version 2) may be written: its memory and its processes.

Everything else limits single processes (`setrlimit`) or looks from time to time; a group counts all of them together, and a
process inside cannot leave it. Owns finding a place for groups, and one group from its making to its removal. Imported by the
helper process too, so nothing heavy stands at the top. Must not know which wall it is used in.
"""

from __future__ import annotations

import os
import time

ROOT = "/sys/fs/cgroup"
OWN = "/proc/self/cgroup"
MEMORY_SHARE = 0.75
"""Of the machine's memory that one command may have: a leak ends the command before it slows everything down."""
LEAST_MEMORY = 1 << 30
SPARE_PROCESSES = 32
"""On top of the command's own limit: bubblewrap, the shells, and room for that limit to be the one that is met."""
_PREFIX = "thetis-"
_GONE_WITHIN_S = 1.0


def find(root: str = ROOT, own: str = OWN) -> str:
    """A directory in which groups can be made whose memory or processes can be limited; "" when there is none.

    That is a group above ours: one that has processes of its own hands no limits on. A person's session has one
    (systemd's `app.slice`), a container seldom.
    """
    path = _path(root, own)
    while path and path != root:
        path = os.path.dirname(path)
        handed_on = _read(f"{path}/cgroup.subtree_control").split()
        if (
            {"memory", "pids"} & set(handed_on)
            and os.access(path, os.W_OK)
            and os.access(f"{path}/cgroup.procs", os.W_OK)
        ):
            return path
    return ""


def limits(base: str, threads: int, memory_kib: int) -> dict[str, str]:
    """What is written into a group below `base`, by file name. `memory_kib`: of the machine."""
    handed_on = _read(f"{base}/cgroup.subtree_control").split()
    found: dict[str, str] = {}
    if "memory" in handed_on and memory_kib:
        found["memory.max"] = str(max(LEAST_MEMORY, int(memory_kib * 1024 * MEMORY_SHARE)))
    if "pids" in handed_on:
        found["pids.max"] = str(threads + SPARE_PROCESSES)
    return found


def memory_kib(meminfo: str = "/proc/meminfo") -> int:
    """Of the machine; 0 when the kernel does not say."""
    for line in _read(meminfo).splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return 0


def sentence(files: dict[str, str]) -> str:
    """The limits for people, "" without any."""
    words = []
    if "memory.max" in files:
        words.append(f"{int(files['memory.max']) / (1 << 30):.1f} GiB of memory")
    if "pids.max" in files:
        words.append(f"{files['pids.max']} processes")
    return f" A command has at most {' and '.join(words)} in all." if words else ""


def sweep(base: str) -> None:
    """Remove the groups of helpers that were killed. One that has processes stays: the kernel refuses."""
    try:
        names = os.listdir(base)
    except OSError:
        return
    for name in names:
        if name.startswith(_PREFIX):
            _remove(f"{base}/{name}")


def fresh(base: str) -> str:
    """The path of a group that does not exist yet."""
    return f"{base}/{_PREFIX}{os.urandom(8).hex()}"


class Group:
    """One command's. With `path` "" nothing is done."""

    def __init__(self, path: str, files: dict[str, str]) -> None:
        self._path = path
        self._files = files

    def make(self) -> str:
        """Make it; why it could not be, or "". Without it the command runs as where no group can be made."""
        if not self._path:
            return ""
        try:
            os.mkdir(self._path, 0o755)
            for name, value in self._files.items():
                _write(f"{self._path}/{name}", value)
        except OSError as error:
            _remove(self._path)
            self._path = ""
            return str(error.strerror)
        return ""

    def join(self) -> str:
        """Move the calling process, and with it all it will start, into it; why that could not be, or ""."""
        if not self._path:
            return ""
        try:
            _write(f"{self._path}/cgroup.procs", "0")
        except OSError as error:
            return str(error.strerror)
        return ""

    def starved(self) -> int:
        """How many of it the kernel has killed for want of memory."""
        if not self._path:
            return 0
        counted = dict(line.split()[:2] for line in _read(f"{self._path}/memory.events").splitlines() if " " in line)
        killed = counted.get("oom_kill", "0")
        return int(killed) if killed.isdigit() else 0

    def end(self) -> int:
        """Kill whoever is in it, remove it; `starved` before that."""
        if not self._path:
            return 0
        starved = self.starved()
        until = time.monotonic() + _GONE_WITHIN_S
        while not _remove(self._path) and time.monotonic() < until:
            try:
                _write(f"{self._path}/cgroup.kill", "1")  # Linux 5.14
            except OSError:
                break  # `tree.end` has killed them all already; an empty group that stays is swept later
            time.sleep(0.002)
        return starved


def _path(root: str, own: str) -> str:
    """Our own group's directory, "" where version 2 is not at `root`."""
    if not os.path.exists(f"{root}/cgroup.controllers"):
        return ""
    for line in _read(own).splitlines():
        if line.startswith("0::/") and ".." not in line:
            return os.path.normpath(root + line[3:])
    return ""


def _remove(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(65536)
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
