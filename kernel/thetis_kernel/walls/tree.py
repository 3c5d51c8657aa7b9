"""Ending a tree of processes so that nobody is left, whatever they did to get away.

Owns the walk over /proc and the kill. Works for a process that is the *subreaper* of the tree: whoever loses its
parent (double fork, setsid) becomes its child, so "I have no children" means that the whole tree is gone.
Must not know what the processes are. Without /proc (macOS) only the process group is ended.
"""

from __future__ import annotations

import os
import signal
import time

PROC = "/proc"
_PAUSE_S = 0.002


def parents() -> dict[int, int]:
    """pid -> parent's pid of every living process; zombies are left out."""
    found: dict[int, int] = {}
    try:
        names = os.listdir(PROC)
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            parent = _parent(int(name))
            if parent is not None:
                found[int(name)] = parent
    return found


def descendants(of: int) -> list[int]:
    """Living processes below `of`, parents before their children."""
    return _below(of, parents())


def threads(below: int = 0) -> int:
    """Threads alive on the machine (cheap: one small read), or in the tree `below` a process (a walk).

    0 when the kernel does not say.
    """
    if below:
        return sum(_stat(pid)[1] for pid in descendants(below))
    try:
        with open(f"{PROC}/loadavg", "rb") as file:
            return int(file.read(200).split()[3].split(b"/")[1])
    except (OSError, IndexError, ValueError):
        return 0


def reap() -> tuple[list[tuple[int, int]], bool]:
    """Collect the dead children: ((pid, wait status), ...) and whether any child is left."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended.append((pid, status))


def end(group: int, within_s: float) -> tuple[list[tuple[int, int]], int]:
    """Kill everything below this process. Returns (what was reaped, how many would not die in `within_s`).

    `group` is the process group of the first child (0: none), killed as one first. Then all are stopped before any is
    killed, so that none can fork while its siblings die; repeated until this process has no children.
    """
    ended: list[tuple[int, int]] = []
    deadline = time.monotonic() + within_s
    try:
        if group > 0:
            os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # the group is empty already, or a setuid program; the walk below sees the rest
    while True:
        dead, left = reap()
        ended += dead
        if not left:
            return ended, 0
        if time.monotonic() > deadline:
            return ended, len(descendants(os.getpid()))
        known = parents()
        living = _below(os.getpid(), known)
        for wanted in (signal.SIGSTOP, signal.SIGKILL):
            for pid in living:
                _signal(pid, wanted, parents=(known[pid], os.getpid()))
        time.sleep(_PAUSE_S)


class Family:
    """Who in the tree below this process came with one command, told from those who were there before it.

    A terminal's shell lives on between commands, and so does what they left in the background on purpose. `spine` is
    who was there before the first command: bubblewrap and the shell. Processes are known by pid and start time.
    """

    def __init__(self) -> None:
        self._spine = self._here()
        self._before = dict(self._spine)

    def mark(self) -> None:
        """A command is about to start: everybody here now is not part of it."""
        self._before = self._here()

    def newer(self) -> list[int]:
        """Living processes of the command: all that came since the mark, but for children of older background ones."""
        now = self._here()
        spared = {pid for pid, me in self._before.items() if now.get(pid, me).started == me.started}
        older = spared - self._spine.keys()
        groups = {self._before[pid].group for pid in older}
        groups |= {self._before[pid].session for pid in older} - {self._session()}
        return [
            pid
            for pid, me in now.items()
            if pid not in spared
            and me.group not in groups
            and me.session not in groups
            and not self._descends(pid, now, older)
        ]

    def signal(self, number: int) -> int:
        """Send `number` to the command's processes; how many there were."""
        now = self._here()
        victims = self.newer()
        for pid in victims:
            if pid in now:
                _signal(pid, number, started=now[pid].started)
        return len(victims)

    def end(self, within_s: float) -> int:
        """Kill the command's processes, stopped first so that none forks on; how many would not die in `within_s`."""
        deadline = time.monotonic() + within_s
        while victims := self.newer():
            if time.monotonic() > deadline:
                return len(victims)
            now = self._here()
            # Parents first: a stopped group that loses its parent gets SIGHUP from the kernel (setpgid(2)), and so does
            # who was forked since the look. Children first, a fork bomb went on beside it.
            for wanted in (signal.SIGSTOP, signal.SIGKILL):
                for pid in victims:
                    if pid in now:
                        _signal(pid, wanted, started=now[pid].started)
            time.sleep(_PAUSE_S)
        return 0

    def _session(self) -> int:
        """The terminal's own session, which every command shares: belonging to it says nothing."""
        return next((me.session for me in self._spine.values()), 0)

    @staticmethod
    def _here() -> dict[int, _Process]:
        return {pid: me for pid in descendants(os.getpid()) if (me := _process(pid)) is not None}

    @staticmethod
    def _descends(pid: int, now: dict[int, _Process], of: set[int]) -> bool:
        while pid in now:
            pid = now[pid].parent
            if pid in of:
                return True
        return False


class _Process:
    """One process as /proc tells it."""

    __slots__ = ("group", "parent", "session", "started")

    def __init__(self, parent: int, group: int, session: int, started: int) -> None:
        self.parent = parent
        self.group = group
        self.session = session
        self.started = started


def _started(pid: int) -> int:
    me = _process(pid)
    return -1 if me is None else me.started


def _process(pid: int) -> _Process | None:
    fields = _fields(pid)
    return None if fields is None else _Process(int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _below(of: int, known: dict[int, int]) -> list[int]:
    found: list[int] = []
    frontier = {of}
    while frontier:
        frontier = {pid for pid, parent in known.items() if parent in frontier}
        found += frontier
    return found


def _parent(pid: int) -> int | None:
    return _stat(pid)[0]


def _stat(pid: int) -> tuple[int | None, int]:
    """(parent, number of threads) of a living process; (None, 0) for one that is gone or a zombie."""
    fields = _fields(pid)
    return (None, 0) if fields is None else (int(fields[1]), int(fields[17]))


def _fields(pid: int) -> list[bytes] | None:
    """What follows the name in a living process's stat line (proc_pid_stat(5): state, ppid, pgrp, session, ...)."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:
            text = file.read(1024)
    except OSError:
        return None  # gone since the listing
    fields = text[text.rindex(b")") + 2 :].split()  # the name before it may hold anything
    return None if fields[0] in (b"Z", b"X") else fields


def _signal(pid: int, number: int, *, parents: tuple[int, ...] = (), started: int = -1) -> None:
    """Send `number`, unless the pid was handed to another process since it was listed: neither has it one of `parents`
    nor did it start at `started`.
    """
    try:
        handle = os.pidfd_open(pid)
    except (ProcessLookupError, PermissionError, AttributeError):
        return
    try:
        if _parent(pid) in parents or _started(pid) == started >= 0:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        pass  # gone, or a setuid program; `end` counts who is left
    finally:
        os.close(handle)
