"""The root lock: at most one kernel owns a data directory.

It is an flock on a file that is never removed; the pid inside is for people and decides nothing. The descriptor is
close-on-exec: one that leaked into a child would hold the root after its owner died. Knows nothing of the database.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from thetis_kernel.errors import StoreError, StoreLocked

LOCK_NAME = "kernel.lock"


class RootLock:
    """A held lock; `release` (or the end of the process) frees it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def acquire(cls, data_dir: Path) -> RootLock:
        """Take `data_dir/kernel.lock` at once or raise `StoreLocked` with the holder's pid (0 when unreadable)."""
        path = data_dir / LOCK_NAME
        while True:
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise StoreError(f"the lock file {path} cannot be opened: {error.strerror}") from error
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = _pid_in(fd)
                os.close(fd)
                who = f"process {pid}" if pid else "another process"
                raise StoreLocked(
                    f"{data_dir} is in use by {who}", pid=pid, hint="Attach to it, or stop it first."
                ) from None
            except OSError as error:
                os.close(fd)
                raise StoreError(f"{path} cannot be locked: {error.strerror}") from error
            if _same_file(fd, path):
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
                return cls(path, fd)
            os.close(fd)  # somebody replaced the file between open and lock: this lock guards nothing

    def release(self) -> None:
        """Give the root back. Safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _pid_in(fd: int) -> int:
    text = os.pread(fd, 32, 0).split()
    return int(text[0]) if text and text[0].isdigit() else 0


def _same_file(fd: int, path: Path) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), there)
