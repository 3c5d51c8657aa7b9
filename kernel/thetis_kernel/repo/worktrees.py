"""The worktrees we made: which there are, removing one, putting right at start what a crash left.

Only records with our marker are ever looked at twice; the user's own worktrees are none of ours (complaints 105).
Branches are never deleted here (complaints 102).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Notice, Removed, Worktree
from thetis_kernel.repo import lease, refs
from thetis_kernel.repo.changes import worktree_dirt
from thetis_kernel.repo.durable import sync_directory
from thetis_kernel.repo.forward import finish_forward
from thetis_kernel.repo.inspection import find_git_directory, locate, open_root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import GIT_ERRORS, open_git_directory
from thetis_kernel.repo.locks import locked, settle
from thetis_kernel.repo.marker import Marker, read_marker, write_marker
from thetis_kernel.repo.removal import remove_tree


def list_worktrees(root: str, *, details: bool) -> list[Worktree]:
    """Our worktrees in the repository at `root`, by branch."""
    common = locate(root)
    repository = open_git_directory(find_git_directory(root))
    found: list[Worktree] = []
    for record, marker in _ours(common):
        there = Path(marker.worktree).is_dir()
        tip = refs.tip_of(repository, marker.branch)
        found.append(
            Worktree(
                branch=marker.branch,
                path=marker.worktree,
                state="lost" if marker.state == "ready" and not there else marker.state,
                tip=str(tip or ""),
                held_by=max(0, lease.holder(record)),
                dirty=_dirt(record) if details and there and marker.state == "ready" else -1,
                bytes=_size(Path(marker.worktree)) if details and there else -1,
                reached=details and tip is not None and refs.reached_elsewhere(repository, marker.branch, tip),
            )
        )
    return found


def remove_worktree(root: str, branch: str, job: Job, *, discard: bool) -> Removed:
    """Remove the worktree of `branch` and its record; see `protocol.git.RemoveWorktree`.

    Raises RepoError: `not-ours`, `held`, `locked-by-user`, `dirty`, `not-removed`.
    """
    common = locate(root)
    record = record_directory(common, branch)
    try:
        with locked(record, job):
            marker = read_marker(record)
            if marker is None or marker.branch != branch:
                raise not_ours(record)
            _check_free(record, branch)
            if marker.state == "ready" and not discard:
                _check_clean(record, marker)
            _remove(record, marker, common)
    except FileNotFoundError:
        return Removed(existed=False, tip=_tip(root, branch))
    return Removed(existed=True, tip=_tip(root, branch))


def sweep(root: str, job: Job) -> list[Notice]:
    """Finish removals, throw away half-made worktrees, free leases of the dead, name lost worktrees."""
    common = locate(root)
    notices = [Notice("merge", sentence) for sentence in finish_forward(open_root(root), job)]
    for record, _ in list(_ours(common)):
        try:
            with locked(record, job):
                notices += _swept(record, common, job)
        except FileNotFoundError:
            continue
        except RepoError as error:
            notices.append(Notice(error.kind, error.message, error.hint))
    return notices


def not_ours(record: Path) -> RepoError:
    """The record holds no worktree Thetis made."""
    return RepoError(f"The worktree {record.name} was not made by Thetis.", kind="not-ours")


def _swept(record: Path, common: Path, job: Job) -> Iterator[Notice]:
    marker = read_marker(record)
    if marker is None:
        return
    if lease.release(record):
        yield Notice("lease", f"A process that worked in the worktree of {marker.branch} is gone.")
    if lease.holder(record) != 0:
        return
    lock = record / "index.lock"
    if lock.exists() and settle(lock, [record, common, Path(marker.worktree)], job):
        yield Notice("stale-lock", f"A lock left behind in the worktree of {marker.branch} was removed.")
    if marker.state != "ready":
        _remove(record, marker, common)
        yield Notice(marker.state, f"The unfinished worktree of {marker.branch} was removed; its branch stays.")
    elif not os.path.lexists(marker.worktree):
        # The record stays: it knows where the branch began, and the directory may only be unmounted.
        yield Notice("lost", f"The worktree of {marker.branch} is gone; it is made again when it is needed.")


def _ours(common: Path) -> Iterator[tuple[Path, Marker]]:
    directory = common / "worktrees"
    for record in sorted(directory.iterdir()) if directory.is_dir() else ():
        marker = read_marker(record)
        if marker is not None:
            yield record, marker


def _check_free(record: Path, branch: str) -> None:
    current = lease.holder(record)
    if current == -1:
        raise RepoError(f"The worktree of {branch} was locked by hand.", kind="locked-by-user",
                        hint="git worktree unlock takes that back.")  # fmt: skip
    if current:
        raise RepoError(f"Process {current} is working in the worktree of {branch}.", kind="held", pid=current)


def _check_clean(record: Path, marker: Marker) -> None:
    """Refuse to remove what is nowhere else. A worktree that cannot be compared counts as unclean."""
    if not Path(marker.worktree).is_dir():
        return
    try:
        dirty = worktree_dirt(open_git_directory(record))
    except GIT_ERRORS:
        dirty = -1
    inner = [path for path in marker.gitlinks if (Path(marker.worktree) / os.fsdecode(path) / ".git").exists()]
    if dirty or inner:
        what = f"{dirty} uncommitted files" if dirty > 0 else "files that cannot be compared" if dirty else "repositories"
        raise RepoError(f"The worktree of {marker.branch} holds {what} that exist nowhere else.", kind="dirty",
                        hint="Let its changes be committed first, or say that they may be discarded.")  # fmt: skip


def _remove(record: Path, marker: Marker, common: Path) -> None:
    """The directory, then the record. The marker says first that it is going, in case this is cut short."""
    where = Path(marker.worktree)
    if common.is_relative_to(where) or not where.is_absolute():
        raise RepoError(f"{where} holds the repository itself.", kind="bad-path")
    if marker.state != "removing":
        write_marker(record, Marker(marker.branch, marker.worktree, "removing", marker.base, marker.tip, marker.gitlinks))
    remove_tree(where)
    if where.parent.is_dir():
        sync_directory(where.parent)
    shutil.rmtree(record)
    sync_directory(record.parent)
    with suppress(OSError):  # others are in it
        record.parent.rmdir()


def _tip(root: str, branch: str) -> str:
    return str(refs.tip_of(open_git_directory(find_git_directory(root)), branch) or "")


def _dirt(record: Path) -> int:
    try:
        return worktree_dirt(open_git_directory(record))
    except (*GIT_ERRORS, RepoError):
        return -1


def _size(directory: Path) -> int:
    """Bytes of files below `directory` as they are on disk; what disappears meanwhile counts nothing."""
    total = 0
    for where, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                continue
    return total
