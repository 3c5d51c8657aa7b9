"""Taking a secret out of this process's environment so that /proc/PID/environ does not show it any more either.

Removing a variable leaves the bytes the process was started with where they are, and every process of the same user may
read those. On Linux they are overwritten; elsewhere there is no such file. Must not know what is secret.
"""

from __future__ import annotations

from collections.abc import MutableMapping

_ENV_START, _ENV_END = 47, 48
"""Fields 50 and 51 of /proc/PID/stat (proc_pid_stat(5)), counted from the one after the name."""
MAX_BLOCK = 8 * 1024 * 1024
"""Bytes; the kernel allows a quarter of the stack limit, which is less."""


def take(environ: MutableMapping[str, str], variable: str) -> str:
    """The variable's value, "" when it is not there; afterwards it is gone."""
    value = environ.pop(variable, "")
    if value:
        _overwrite(variable)
    return value


def _overwrite(variable: str) -> None:
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    except (OSError, IndexError, ValueError):
        return  # not Linux
    if not 0 < end - start <= MAX_BLOCK:
        return
    import ctypes

    at = 0
    name = variable.encode() + b"="
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        if entry.startswith(name):
            ctypes.memset(start + at + len(name), 0, len(entry) - len(name))
        at += len(entry) + 1
