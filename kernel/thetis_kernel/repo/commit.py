"""The commit at a turn's end: everything that changed in a conversation's worktree, on its branch.

Owns the order of steps, so that a kill between any two loses nothing and a repetition adds nothing: stage, index,
tree, commit object, branch (compare-and-swap), marker. Hooks, signing and filters never run.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

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
from thetis_kernel.repo.library import GIT_ERRORS
from thetis_kernel.repo.locks import locked
from thetis_kernel.repo.marker import write_marker
from thetis_kernel.repo.moving import settled
from thetis_kernel.repo.opening import Opened, not_materialised, open_worktree, settle_index
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.staging import Stager

MAX_LISTED = 500
"""Paths an answer names; the counts are exact."""
OPEN_MERGE = ("A merge of the trunk is open on this branch: its files are recorded when it is completed, and put back when it is "
              "aborted.")


def commit_turn(root: str, branch: str, message: str, author: str, job: Job) -> Committed:
    """Commit all changes of the worktree of `branch`; see `protocol.git.CommitTurn`.

    Raises RepoError: `not-materialised`, `head-moved`, `branch-moved`, `locked`, `contended`, `special-file`,
    `write-failed`.
    """
    record = record_directory(locate(root), branch)
    try:
        with locked(record, job):
            opened = settled(open_worktree(record, branch), job)
            point("commit.before")
            if opened.marker.merging:
                return Committed(commit="", tip=opened.marker.tip, notes=[OPEN_MERGE])
            return record_changes(opened, message, author, job)
    except FileNotFoundError as error:
        raise not_materialised(branch) from error


def record_changes(opened: Opened, message: str, author: str, job: Job) -> Committed:
    """The commit itself, on an opened worktree whose lock the caller holds."""
    repository, record, marker = opened
    settle_index(opened, job)
    stands = _stands_on_tip(opened)
    stager, tree = staged(opened, job)
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
    opened: Opened, tree: pygit2.Oid, message: str, author: str, job: Job, stands: Collection[str], also: Collection[str] = ()
) -> pygit2.Oid | None:
    """Put a commit of `tree` on the branch of `opened`; None when its tip has that tree already and there is no `also`.

    `also`: parents besides the tip. `stands`: the tips the files can be taken to stand on. Raises RepoError `branch-moved`
    for any other, since the commit would undo what was put there; `contended`, `locked`, `write-failed`.
    """
    repository, _, marker = opened
    text = fit(message)

    def build(tip: pygit2.Oid) -> pygit2.Oid | None:
        if str(tip) not in stands:
            raise RepoError(
                f"{marker.branch} was moved to {str(tip)[:10]} while its worktree stands on {marker.tip[:10]}.",
                kind="branch-moved",
                hint=f"To record the files as they are: git -C {marker.worktree} reset {marker.branch}; or move the "
                f"branch back: git update-ref {ref_name(marker.branch)} {marker.tip}",
            )
        if not also and repository[tip].peel(pygit2.Commit).tree_id == tree:
            return None
        return repository.create_commit(None, *signatures(repository, author), text, tree, [tip, *also])

    try:
        return refs.advance(repository, marker.branch, build, f"thetis: {text.splitlines()[0]}", job)
    except GIT_ERRORS as error:
        raise _write_failed(marker.branch, error) from error


def stage(opened: Opened, job: Job, top: int) -> Stager:
    """A stager for an opened worktree whose directory is open as `top`."""
    attributes = Attributes(opened.repository, opened.record, opened.marker.base)
    return Stager(opened.repository, attributes, top, list(opened.marker.gitlinks), job)


def changed_paths(repository: pygit2.Repository, commit: pygit2.Oid) -> list[Changed]:
    """The paths of `commit` that differ from its first parent."""
    made = repository[commit].peel(pygit2.Commit)
    return changed_between(made.parents[0].tree, made.tree)


def changed_between(before: pygit2.Tree, after: pygit2.Tree) -> list[Changed]:
    """The paths of two trees that differ."""
    diff = before.diff_to_tree(after)
    return [Changed(shown((delta.old_file if delta.status == DeltaStatus.DELETED else delta.new_file).raw_path),
                    delta.status_char()) for delta in diff.deltas]  # fmt: skip


def staged(opened: Opened, job: Job) -> tuple[Stager, pygit2.Oid]:
    """Stage all that changed; the tree of it. Raises RepoError `write-failed`."""
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


def subject_of(commit: pygit2.Commit) -> str:
    """The first line of a commit's message, whatever bytes it is made of."""
    return commit.raw_message.decode("utf-8", "replace").strip().partition("\n")[0]


def fit(message: str) -> str:
    """A message git can hold."""
    return message.replace("\0", "").encode("utf-8", "replace").decode().strip() or "Turn"


def _write_failed(branch: str, error: Exception) -> RepoError:
    return RepoError(
        f"The changes of {branch} could not be recorded: {str(error).rstrip('.')}.",
        kind="write-failed",
        hint="They are still in its worktree. Is the disk full?",
    )
