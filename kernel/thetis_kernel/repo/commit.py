"""The commit at a turn's end: everything that changed in a conversation's worktree, on its branch.

Owns the order of steps, so that a kill between any two loses nothing and a repetition adds nothing: stage, index,
tree, commit object, branch (compare-and-swap), marker. Hooks, signing and filters never run.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import msgspec
import pygit2
from pygit2.enums import DeltaStatus

from thetis_kernel.crash import point
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Changed, Committed
from thetis_kernel.repo import beneath, refs
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.changes import index_changes
from thetis_kernel.repo.identity import signatures
from thetis_kernel.repo.inspection import locate
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import record_directory, ref_name
from thetis_kernel.repo.library import GIT_ERRORS, common_directory, open_git_directory
from thetis_kernel.repo.locks import locked, settle
from thetis_kernel.repo.marker import Marker, read_marker, write_marker
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.staging import Stager

MAX_LISTED = 500
"""Paths an answer names; the counts are exact."""


class Opened(NamedTuple):
    """A worktree of ours, ready to be worked on; the caller holds its lock."""

    repository: pygit2.Repository
    record: Path
    marker: Marker


def commit_turn(root: str, branch: str, message: str, author: str, job: Job) -> Committed:
    """Commit all changes of the worktree of `branch`; see `protocol.git.CommitTurn`.

    Raises RepoError: `not-materialised`, `head-moved`, `branch-moved`, `locked`, `contended`, `special-file`,
    `write-failed`.
    """
    record = record_directory(locate(root), branch)
    try:
        with locked(record, job):
            opened = open_worktree(record, branch)
            point("commit.before")
            return record_changes(opened, message, author, job)
    except FileNotFoundError as error:
        raise not_materialised(branch) from error


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


def record_changes(opened: Opened, message: str, author: str, job: Job) -> Committed:
    """The commit itself, on an opened worktree whose lock the caller holds."""
    repository, record, marker = opened
    settle_index(opened, job)
    stands = _stands_on_tip(opened)
    stager, tree = _stage_all(opened, job)
    new = commit_tree(opened, tree, message, author, job, stands)
    point("commit.after")
    tip = new or refs.tip_of(repository, marker.branch)
    kept = msgspec.structs.replace(marker, state="ready", tip=str(tip), gitlinks=stager.gitlinks)
    if kept != marker:
        write_marker(record, kept)
    changed = changed_paths(repository, new) if new is not None else []
    return Committed(
        commit=str(new) if new is not None else "",
        tip=str(tip),
        changed=changed[:MAX_LISTED],
        total=len(changed),
        skipped=stager.skipped[:MAX_LISTED],
        notes=stager.notes,
    )


def commit_tree(
    opened: Opened, tree: pygit2.Oid, message: str, author: str, job: Job, stands: Collection[str]
) -> pygit2.Oid | None:
    """Put a commit of `tree` on the branch of `opened`; None when its tip has that tree already.

    `stands`: the tips the files can be taken to stand on. Raises RepoError `branch-moved` for any other, since the
    commit would undo what was put there; `contended`, `locked`, `write-failed`.
    """
    repository, _, marker = opened
    text = _fit(message)

    def build(tip: pygit2.Oid) -> pygit2.Oid | None:
        if str(tip) not in stands:
            raise RepoError(
                f"{marker.branch} was moved to {str(tip)[:10]} while its worktree stands on {marker.tip[:10]}.",
                kind="branch-moved",
                hint=f"To record the files as they are: git -C {marker.worktree} reset {marker.branch}; or move the "
                f"branch back: git update-ref {ref_name(marker.branch)} {marker.tip}",
            )
        if repository[tip].peel(pygit2.Commit).tree_id == tree:
            return None
        return repository.create_commit(None, *signatures(repository, author), text, tree, [tip])

    try:
        return refs.advance(repository, marker.branch, build, f"thetis: {text.splitlines()[0]}", job)
    except GIT_ERRORS as error:
        raise _write_failed(marker.branch, error) from error


def stage(opened: Opened, job: Job, top: int) -> Stager:
    """A stager for an opened worktree whose directory is open as `top`."""
    attributes = Attributes(opened.repository, opened.record, opened.marker.base)
    return Stager(opened.repository, attributes, top, list(opened.marker.gitlinks), job)


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


def changed_paths(repository: pygit2.Repository, commit: pygit2.Oid) -> list[Changed]:
    """The paths of `commit` that differ from its first parent."""
    made = repository[commit].peel(pygit2.Commit)
    diff = made.parents[0].tree.diff_to_tree(made.tree)
    return [Changed(shown((delta.old_file if delta.status == DeltaStatus.DELETED else delta.new_file).raw_path),
                    delta.status_char()) for delta in diff.deltas]  # fmt: skip


def not_materialised(branch: str) -> RepoError:
    """There is no complete worktree of `branch`."""
    return RepoError(f"{branch} has no complete worktree.", kind="not-materialised", hint="It must be materialised first.")


def _stage_all(opened: Opened, job: Job) -> tuple[Stager, pygit2.Oid]:
    repository, _, marker = opened
    worktree = Path(marker.worktree)
    try:
        with unstuck(worktree) as beat, beneath.opened(worktree) as top:

            def check() -> None:
                beat()
                job.check()

            changes = index_changes(repository, update=True)
            stager = stage(opened, Job(check=check, secret=job.secret), top)
            stager.stage(changes)
        tree = repository.index.write_tree()
        repository.index.write()  # after the tree, whose directories it then remembers: 1 s with 50,000 files otherwise
        return stager, tree
    except GIT_ERRORS as error:
        raise _write_failed(marker.branch, error) from error


def _stands_on_tip(opened: Opened) -> set[str]:
    """The commits the worktree's files can be taken to stand on: where we left it, and where a git command of the
    user's in this worktree has taken branch and index together since."""
    repository, record, marker = opened
    stands = {marker.tip}
    tip = refs.tip_of(repository, marker.branch)
    if tip is not None and str(tip) != marker.tip and (_index_holds(repository, tip) or _moved_here(record, str(tip))):
        stands.add(str(tip))
    return stands


def _index_holds(repository: pygit2.Repository, tip: pygit2.Oid) -> bool:
    try:
        return bool(repository.index.write_tree() == repository[tip].peel(pygit2.Commit).tree_id)
    except GIT_ERRORS:
        return False


def _moved_here(record: Path, tip: str) -> bool:
    """Whether the last thing that happened to this worktree's HEAD was coming to `tip`."""
    try:
        with open(record / "logs" / "HEAD", "rb") as file:
            file.seek(-min(4096, os.fstat(file.fileno()).st_size), os.SEEK_END)
            last = file.read().splitlines()[-1]
    except (OSError, IndexError):
        return False
    return last.split(b" ")[1:2] == [tip.encode()]


def _fit(message: str) -> str:
    """A message git can hold."""
    return message.replace("\0", "").encode("utf-8", "replace").decode().strip() or "Turn"


def _write_failed(branch: str, error: Exception) -> RepoError:
    return RepoError(
        f"The changes of {branch} could not be recorded: {str(error).rstrip('.')}.",
        kind="write-failed",
        hint="They are still in its worktree. Is the disk full?",
    )
