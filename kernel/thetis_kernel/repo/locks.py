"""Who may work on what: one at a time in a worktree's record, and lock files that dead processes left behind.

Our own exclusion is flock on a directory: it ends with the process, so it is never stale. git's is a file
`<name>.lock`; one of those stays when its owner is killed. It is removed only when nobody has it open, no git command
works in this repository, and it has not changed while we watched (reliability P7).
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from thetis_kernel.repo.job import Job
from thetis_kernel.repo.process import user_of

LOG = logging.getLogger("thetis.repo")
POLL = 0.02
"""Seconds between two looks at whether waiting is still wanted."""
WATCH = 2.0
"""Seconds a lock file is watched before it can count as left behind: git holds one for milliseconds."""


@contextmanager
def locked(directory: Path, job: Job, *, make: bool = False) -> Iterator[None]:
    """Be the only one, among all threads and processes of ours, that works in `directory`.

    `make` makes it first. Raises FileNotFoundError when it is not there, RepoError `locked` after the job's patience.
    """
    while True:
        if make:
            directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not _try(descriptor):
                _queue(descriptor, job, f"{directory.name} is being worked on by another process.")
            if _same(descriptor, directory):
                yield
                return
        finally:
            os.close(descriptor)
        # It was removed while we waited; what stands there now is another directory, or none.


def settle(lock: Path, around: list[Path], job: Job) -> bool:
    """Wait until git's lock file `lock` is gone, and remove it if its owner is. True when it was removed.

    `around`: directories in which a running git command counts as its owner. Raises RepoError `locked` when it is
    still held after the job's patience, or its owner cannot be looked for on this system.
    """
    seen, since = _identity(lock), time.monotonic()
    removed = False

    def free() -> bool:
        nonlocal seen, since, removed
        now = _identity(lock)
        if now is None:
            return True
        if now != seen:
            seen, since = now, time.monotonic()
        if time.monotonic() - since < WATCH or user_of(lock, around) is not None or _identity(lock) != seen:
            return False
        lock.unlink(missing_ok=True)
        removed = True
        LOG.warning("removed %s, left behind by a process that is gone", lock)
        return True

    job.wait_for(
        free,
        f"{lock} is held by another program.",
        hint="End the git command that runs there; if there is none, delete that file.",
    )
    return removed


def _queue(descriptor: int, job: Job, sentence: str) -> None:
    """Wait for the lock of `descriptor` in the system's queue: asking again and again, a busy process starves a
    patient one. The system's wait cannot be taken back, so a thread does it, with a descriptor of its own; when we no
    longer wait, it gets the lock some day and lets go of it."""
    waiting, held = os.dup(descriptor), threading.Event()

    def block() -> None:
        try:
            fcntl.flock(waiting, fcntl.LOCK_EX)
            held.set()
        finally:
            os.close(waiting)

    threading.Thread(target=block, name="waiting for a lock", daemon=True).start()
    job.wait_for(partial(held.wait, POLL), sentence, pause=0.0)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same(descriptor: int, directory: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), directory.stat())
    except FileNotFoundError:
        return False


def _identity(lock: Path) -> tuple[int, int, int] | None:
    try:
        found = lock.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns

