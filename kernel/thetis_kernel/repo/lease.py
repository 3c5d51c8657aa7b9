"""Which process works in a worktree: git's own `locked` file in its record, with our process in the reason.

So `git worktree prune` and `remove` keep away while somebody works there, and a lease of a process that is gone, by
pid and start time, counts for nothing (complaints 104).
"""

from __future__ import annotations

import re
from pathlib import Path

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.durable import remove_file, write_file
from thetis_kernel.repo.process import start_of

NAME = "locked"
_REASON = re.compile(r"Thetis is working here \(process (\d+), started (\S+)\)")


def holder(record: Path) -> int:
    """The living process that holds the worktree of `record`; 0 for none, -1 when a person locked it."""
    try:
        reason = (record / NAME).read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return 0
    match = _REASON.fullmatch(reason)
    if match is None:
        return -1
    pid = int(match[1])
    return pid if start_of(pid) == match[2] else 0


def hold(record: Path, branch: str, pid: int) -> None:
    """Note that process `pid` works in the worktree of `record`. A person's lock stays and is respected by removals.

    Raises RepoError `held` when another living process does, `no-process` when there is no such process.
    """
    started = start_of(pid)
    if not started:
        raise RepoError(f"There is no process {pid}.", kind="no-process")
    current = holder(record)
    if current in (pid, -1):
        return
    if current != 0:
        raise RepoError(f"Process {current} is already working in the worktree of {branch}.", kind="held", pid=current)
    write_file(record / NAME, f"Thetis is working here (process {pid}, started {started})\n".encode())


def release(record: Path, pid: int | None = None) -> bool:
    """End the lease of `pid` (None: of any process that is gone). Whether there was one."""
    current = holder(record)
    if current == -1 or not (record / NAME).exists() or (current != 0 and current != pid):
        return False
    remove_file(record / NAME)
    return True
