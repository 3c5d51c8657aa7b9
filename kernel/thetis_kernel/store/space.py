"""Room on the device: a reserve that lets a turn end decently on a full disk, and the refusal of new turns below a floor.

The reserve is a file of real blocks. When an append finds no room the writer frees it and tries again, so results of
what already ran still reach the log; it is made again when space returns. Knows nothing of the database.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

RESERVE = "reserve"
RESERVE_BYTES = 16 * 1024 * 1024
FLOOR_BYTES = 64 * 1024 * 1024
"""Free bytes below which no new turn starts: a turn may write its log, a worktree, a commit and spills."""


class Space:
    """Watches one directory's device. Safe to use from any thread. `free` gives the free bytes (a seam for tests)."""

    def __init__(self, data_dir: Path, free: Callable[[], int] | None = None) -> None:
        self._path = data_dir / RESERVE
        self._free = free or (lambda: free_bytes(data_dir))
        self._lock = threading.Lock()
        self._full = False

    def prepare(self) -> bool:
        """Make the reserve if there is room for it above the floor; whether it stands."""
        with self._lock:
            if self._path.exists():
                return True
            if self._free() < FLOOR_BYTES + RESERVE_BYTES:
                return False
            return _allocate(self._path, RESERVE_BYTES)

    def release(self) -> bool:
        """An append found no room: free the reserve. Whether there was one, so that trying again may help."""
        with self._lock:
            self._full = True
            existed = self._path.exists()
            self._path.unlink(missing_ok=True)
            return existed

    def wrote(self) -> None:
        """An append succeeded."""
        self._full = False

    def accepts_turns(self) -> bool:
        """Whether a new turn may start. After a failed append only room for a whole reserve counts as space returned.

        That second look is what sees a quota: there the device says it has room and the write still fails.
        """
        if self._free() < FLOOR_BYTES:
            return False
        if self.prepare():
            self._full = False
        return not self._full


def free_bytes(directory: Path) -> int:
    """Bytes an ordinary process may still write on the device of `directory`."""
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


def _allocate(path: Path, size: int) -> bool:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, size)
        else:  # macOS
            os.pwrite(fd, bytes(size), 0)
            os.fsync(fd)
    except OSError:
        path.unlink(missing_ok=True)  # half a reserve would only take room away
        return False
    finally:
        os.close(fd)
    return True
