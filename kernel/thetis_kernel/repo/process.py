"""Other processes: is one still the one it was, and is any of them using a repository.

A pid alone proves nothing, it is soon somebody else's: the start time goes with it. Linux only for the second
question; elsewhere nothing can be proven, and the callers then wait instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def start_of(pid: int) -> str:
    """When process `pid` started, as text that only its equality means something; "" when there is none.

    Linux: the boot's id and the ticks since then (proc(5), stat field 22). Elsewhere: what `ps` says, to the second.
    """
    if pid <= 0:
        return ""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        if fields[0] in ("Z", "X"):
            return ""  # dead, only not waited for yet
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii').strip()}/{fields[19]}"
    else:
        command = ["/bin/ps", "-o", "lstart=", "-p", str(pid)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        return told.stdout.strip().replace(" ", "_")


def user_of(path: Path, around: list[Path]) -> int | None:
    """A process that has `path` open, or is a git command working in one of the directories `around`.

    None when there is none; -1 when that cannot be known here.
    """
    if sys.platform != "linux":
        return -1
    target, near = os.fspath(path), [os.fspath(directory) for directory in around]
    for name in os.listdir("/proc"):
        if name.isdigit() and (_has_open(name, target) or _is_git_near(name, near)):
            return int(name)
    return None


def _has_open(pid: str, target: str) -> bool:
    try:
        return any(_link(f"/proc/{pid}/fd/{number}") == target for number in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False  # gone, or another user's, whose commands are looked at by name below


def _is_git_near(pid: str, near: list[str]) -> bool:
    try:
        command = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return False
    if command != "git" and not command.startswith("git-"):
        return False
    try:
        where = os.readlink(f"/proc/{pid}/cwd")
    except PermissionError:
        return True  # a git command of another user: it may be here
    except OSError:
        return False
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    return any(_inside(where, directory) or any(directory in word for word in words) for directory in near)


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
