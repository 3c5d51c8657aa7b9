"""Which children are running, on disk, so that the next start can end those a dead gateway left behind.

On Linux none are left: they die with their parent, stopped or not. Elsewhere a stopped child stays, and this is how
it is found. A pid alone proves nothing, so the process's start time is recorded and compared too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """One child: its pid, when it started in the system's own terms, and its name for people."""

    pid: int
    started: str
    name: str


class Record:
    """The file at `path`, rewritten with every change. Losing it costs nothing but the reaping."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[int, Entry] = {}

    def add(self, pid: int, name: str) -> None:
        """`pid` is running as `name`."""
        started = start_time(pid)
        if started is not None:
            self._entries[pid] = Entry(pid, started, name)
            self._write()

    def remove(self, pid: int) -> None:
        """`pid` is reaped."""
        if self._entries.pop(pid, None) is not None:
            self._write()

    def _write(self) -> None:
        if not self._entries:
            self._path.unlink(missing_ok=True)
            return
        draft = self._path.with_name(self._path.name + ".new")
        draft.write_bytes(msgspec.json.encode(list(self._entries.values())))
        draft.replace(self._path)


def reap_leftovers(path: Path) -> list[Entry]:
    """End the children recorded at `path` that still run, and remove the record. To be called under the root's lock,
    before any child is started. Returns those that were ended; an unreadable record counts as none."""
    try:
        entries = msgspec.json.decode(path.read_bytes(), type=list[Entry])
    except FileNotFoundError:
        return []
    except msgspec.MsgspecError:
        entries = []
    reaped = [entry for entry in entries if entry.pid > 1 and _kill(entry)]
    path.unlink(missing_ok=True)
    return reaped


def start_time(pid: int) -> str | None:
    """When process `pid` started, as text that only its equality means something; None when there is no such process.

    Linux: the boot's id and the start in ticks since then. Elsewhere: what `ps` prints, to the second.
    """
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {fields[19]}"  # field 22 of proc(5), counted after pid and name
    else:
        told = subprocess.run(["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return told.stdout.strip() or None


def _kill(entry: Entry) -> bool:
    """Kill the recorded process and no other: with a pidfd the check and the signal concern the same one."""
    try:
        pidfd = os.pidfd_open(entry.pid) if sys.platform == "linux" else -1
    except ProcessLookupError:
        return False
    try:
        if start_time(entry.pid) != entry.started:
            return False
        if pidfd >= 0:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        else:
            os.kill(entry.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if pidfd >= 0:
            os.close(pidfd)
    return True
