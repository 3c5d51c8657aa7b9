"""Opening a conversation's worktree to work on it: through its record alone, with an index that can be read.

Owns what makes a worktree ready to be worked on; must not know what is done there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pygit2

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import ref_name
from thetis_kernel.repo.library import GIT_ERRORS, common_directory, open_git_directory
from thetis_kernel.repo.locks import settle
from thetis_kernel.repo.marker import Marker, read_marker


class Opened(NamedTuple):
    """A worktree of ours, ready to be worked on; the caller holds its lock."""

    repository: pygit2.Repository
    record: Path
    marker: Marker


def open_worktree(record: Path, branch: str) -> Opened:
    """The worktree whose record is `record`, found through the record alone. The caller holds the record's lock."""
    marker = read_marker(record)
    if marker is None or marker.state != "ready" or marker.branch != branch or not Path(marker.worktree).is_dir():
        raise not_materialised(branch)
    try:
        repository = open_git_directory(record)
    except GIT_ERRORS as error:
        raise RepoError(f"The worktree of {branch} cannot be opened: {error}.", kind="not-materialised") from error
    if repository.workdir is None or os.path.realpath(repository.workdir) != os.path.realpath(marker.worktree):
        raise not_materialised(branch)
    head = (record / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    if head != f"ref: {ref_name(branch)}":
        raise RepoError(
            f"The worktree of {branch} has something else checked out ({head.removeprefix('ref: refs/heads/')[:60]}).",
            kind="head-moved",
            hint=f"Go back to the conversation's branch: git -C {marker.worktree} switch {branch}",
        )
    return Opened(repository, record, marker)


def settle_index(opened: Opened, job: Job) -> None:
    """Make the index usable: no stale lock, and readable. One that libgit2 cannot read (a git command may have made
    it so) is set aside and rebuilt from the branch; the files say what changed anyway."""
    repository, record, marker = opened
    lock = record / "index.lock"
    if lock.exists():
        settle(lock, [record, common_directory(repository), Path(marker.worktree)], job)
    try:
        repository.index.read(force=False)
    except GIT_ERRORS:
        (record / "index").replace(record / "index.unreadable")
        repository.index.read()
        rebuild_index(repository)


def rebuild_index(repository: pygit2.Repository) -> None:
    """An index that holds exactly the branch's tip."""
    repository.index.read_tree(repository.head.peel(pygit2.Commit).tree)
    repository.index.write()


def not_materialised(branch: str) -> RepoError:
    """There is no complete worktree of `branch`."""
    return RepoError(f"{branch} has no complete worktree.", kind="not-materialised", hint="It must be materialised first.")
