"""What a process that only waits for another one does about itself: nobody may read the environment it was started with.

A key leaves the gateway's environment for the model host; the processes that forked a gateway must not be where it is found.
"""

from __future__ import annotations

import contextlib
import os
import sys

_DUMPABLE = 4
_DEATH_SIGNAL = 1
"""PR_SET_DUMPABLE and PR_SET_PDEATHSIG of prctl(2)."""
_ENV_START, _ENV_END = 47, 48
"""Fields 50 and 51 of /proc/PID/stat (proc_pid_stat(5)), counted from the one after the name."""
_MAX_BLOCK = 8 * 1024 * 1024


def readable(yes: bool) -> None:
    """Whether other processes of this user may look into this one (/proc/PID/environ and mem). Inherited by forks."""
    _prctl(_DUMPABLE, int(yes))


def die_with_parent(number: int) -> None:
    """Have the system send this process signal `number` when its parent ends; 0 takes that back. Linux only."""
    _prctl(_DEATH_SIGNAL, number)


def blank_environment() -> None:
    """Overwrite what /proc/PID/environ shows. `os.environ` stays as it is."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, IndexError, ValueError), open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
        if 0 < end - start <= _MAX_BLOCK:
            import ctypes

            ctypes.memset(start, 0, end - start)


def restore_environment() -> None:
    """After a fork of a process that blanked it: what C code sees is what `os.environ` says again."""
    for name, value in os.environ.items():
        os.putenv(name, value)


def _prctl(what: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(what, value, 0, 0, 0)
