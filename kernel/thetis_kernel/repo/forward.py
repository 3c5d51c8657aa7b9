"""The person's own checkout, on the two occasions it is written to: it follows a branch that landed, and `apply`.

Owns the promise that nothing of theirs is written over: a checkout with uncommitted work is refused before anything is
touched, and what a kill cuts is finished for the files that still hold what we found or began. What is under way stands in
refs of ours, the only thing in `.git` we may add. Stash, configuration and HEAD are never touched.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import DeltaStatus, FileMode

from thetis_kernel.crash import point
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.branches import Applied
from thetis_kernel.repo import beneath, refs
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.changes import root_changes
from thetis_kernel.repo.commit import MAX_LISTED, changed_between
from thetis_kernel.repo.inspection import Root, open_root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import HEADS
from thetis_kernel.repo.library import GIT_ERRORS, commit_of, objects_of, raw
from thetis_kernel.repo.locks import locked, settle
from thetis_kernel.repo.merging import merge_commits
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.switching import Difference, differences, put, standing

UNDER_WAY = "refs/thetis/forward"
OLD, NEW, BRANCH = f"{UNDER_WAY}/old", f"{UNDER_WAY}/new", f"{UNDER_WAY}/branch"
MAX_NAMED = 50


class Place(NamedTuple):
    """A working tree a branch is checked out in; `ours`: the root that was opened."""

    path: Path
    ours: bool


def place_of(root: Root, branch: str) -> Place | None:
    """Where `branch` is checked out, in whichever worktree of the repository; None for nowhere."""
    here = os.path.realpath(root.repository.path)
    for git_directory in _git_directories(root.common):
        try:
            head = (git_directory / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if head == f"ref: {HEADS}{branch}":
            ours = os.path.realpath(git_directory) == here
            return Place(root.path if ours else _working_tree(git_directory), ours)
    return None


def checked_out(root: Root, place: Place, old: pygit2.Commit, result: pygit2.Tree) -> list[str]:
    """Files that stand against taking the root's checkout from `old` to `result`: uncommitted ones, and others in the way."""
    if not place.ours:
        return []
    try:
        changes = root_changes(root)
    except RepoError as error:
        return [error.message]
    dirty = {shown(change.path) for change in changes if change.status != DeltaStatus.UNTRACKED}
    attributes = Attributes(root.repository)
    with unstuck(root.path) as beat, beneath.opened(root.path) as top:
        for one in differences(old.tree, result):
            beat()
            if standing(root.repository, attributes, top, one) != "old" or (one.new and _above(top, one.path)):
                dirty.add(shown(one.path))
    return sorted(dirty)


def go_forward(root: Root, branch: str, old: pygit2.Commit, new: pygit2.Commit, job: Job) -> list[str]:
    """`branch`, which is checked out in the root at `old`, goes to `new`, files and index with it. Sentences about what was
    left alone. Raises RepoError `moved`, `locked`, `write-failed`."""
    repository = root.repository
    with locked(root.common, job):
        _free_index(root, job)
        for name, target in ((OLD, str(old.id)), (NEW, str(new.id)), (BRANCH, HEADS + branch)):
            repository.references.create(name, pygit2.Oid(hex=target) if len(target) == 40 else target, force=True)
        point("merge.planned")

        def build(now: pygit2.Oid) -> pygit2.Oid:
            if now != old.id:
                raise RepoError(f"{branch} has moved since this was shown.", kind="moved", hint="Look at it again.")
            return new.id

        try:
            refs.advance(repository, branch, build, "thetis: merge a conversation", job)
        except RepoError:
            _done(repository)
            raise
        point("merge.moved")
        return _follow(root, branch, old, new, {"old"}, job)


def finish_forward(root: Root, job: Job) -> list[str]:
    """Finish what a kill cut in `go_forward`; sentences for the person, none when nothing was."""
    repository = root.repository
    with locked(root.common, job):
        try:
            old, new = (repository.references[name].peel(pygit2.Commit) for name in (OLD, NEW))
            branch = str(repository.references[BRANCH].target).removeprefix(HEADS)
        except GIT_ERRORS:
            return []
        place = place_of(root, branch)
        if refs.tip_of(repository, branch) != new.id or place is None or not place.ours:
            _done(repository)  # it had not moved, or something else has been checked out since
            return []
        _free_index(root, job)
        left = _follow(root, branch, old, new, {"old", "begun"}, job)
        return [f"A merge into {branch} had been cut short; its files are written now.", *left]


def apply(root: str, branch: str, job: Job) -> Applied:
    """See `protocol.branches.ApplyBranch`. Raises RepoError `dirty`, `conflicts`, `changes-unknown`, `write-failed`."""
    opened = open_root(root)
    finish_forward(opened, job)
    tip = commit_of(opened.repository, branch)
    with objects_of(opened.common) as objects:
        merged = merge_commits(objects, commit_of(objects, str(opened.head.id)), commit_of(objects, str(tip.id)))
    if merged.conflicts:
        names = [shown(path) for path in merged.conflicts]
        raise RepoError(f"{branch} and what is checked out changed the same lines of {', '.join(names[:5])}.", kind="conflicts",
                        hint="Let the conversation bring the trunk in first.", paths=names[:MAX_NAMED])
    result = opened.repository[merged.tree].peel(pygit2.Tree)
    wanted = differences(opened.head.tree, result)
    attributes = Attributes(opened.repository)
    owned = [shown(one.path) for one in wanted if one.new and attributes.reason(one.path)]
    if owned:
        raise RepoError(f"A filter owns {', '.join(owned[:5])}: git would have to run it.", kind="filtered",
                        paths=owned[:MAX_NAMED], hint=f"Take it with git: git restore --source={branch} FILE")
    with locked(opened.common, job), unstuck(opened.path), beneath.opened(opened.path) as top:
        found = [(one, standing(opened.repository, attributes, top, one)) for one in wanted]
        dirty = [shown(one.path) for one, state in found
                 if state not in ("old", "new") or (one.new and _above(top, one.path))]  # fmt: skip
        if dirty:
            raise RepoError(f"You have changed files that {branch} changed too: {', '.join(dirty[:5])}.", kind="dirty",
                            hint="Commit or stash them first; nothing was written.", paths=dirty[:MAX_NAMED])
        _write(opened, [one for one, state in found if state == "old"], top)
    changed = changed_between(opened.head.tree, result)
    return Applied(changed[:MAX_LISTED], len(changed))


def _follow(
    root: Root, branch: str, old: pygit2.Commit, new: pygit2.Commit, replaced: Collection[str], job: Job
) -> list[str]:
    """The files and the index of the root's checkout follow its branch; then nothing is under way any more."""
    repository = root.repository
    attributes = Attributes(repository)
    left: list[str] = []
    with unstuck(root.path) as beat, beneath.opened(root.path) as top:
        wanted, chosen = differences(old.tree, new.tree), []
        for one in wanted:
            beat()
            state = standing(repository, attributes, top, one)
            if state in replaced:
                chosen.append(one)
            elif state != "new":
                left.append(f"{shown(one.path)} was changed meanwhile and is left as it stands.")
        _write(root, chosen, top)
        point("merge.files")
        try:
            _enter(repository, wanted)
        except GIT_ERRORS as error:
            raise _failed(root, error) from error
    _done(repository)
    return left


def _write(root: Root, chosen: list[Difference], top: int) -> None:
    try:
        for one in sorted(chosen, key=lambda each: each.new is not None):
            put(root.repository, top, one)
    except GIT_ERRORS as error:
        raise _failed(root, error) from error


def _enter(repository: pygit2.Repository, wanted: list[Difference]) -> None:
    """The index says of the paths what the new tree says; of all others what it said."""
    index = repository.index
    index.read(force=True)
    for one in wanted:
        if one.new is not None:
            index.add(pygit2.IndexEntry(raw(one.path), one.new.id, FileMode(one.new.mode)))
        elif raw(one.path) in index:
            index.remove(raw(one.path))
    index.write()


def _free_index(root: Root, job: Job) -> None:
    lock = Path(root.repository.path) / "index.lock"
    if lock.exists():
        settle(lock, [Path(root.repository.path), root.path], job)


def _above(top: int, path: bytes) -> bool:
    """Whether something that is no directory stands where the path needs one."""
    parts = path.split(b"/")
    return any(beneath.read(top, b"/".join(parts[:n]), 0).kind not in ("missing", "directory") for n in range(1, len(parts)))


def _done(repository: pygit2.Repository) -> None:
    for name in (BRANCH, NEW, OLD):
        with suppress(*GIT_ERRORS):
            repository.references.delete(name)


def _git_directories(common: Path) -> Iterator[Path]:
    yield common
    records = common / "worktrees"
    if records.is_dir():
        yield from sorted(records.iterdir())


def _working_tree(git_directory: Path) -> Path:
    try:
        return Path((git_directory / "gitdir").read_text(encoding="utf-8", errors="replace").strip()).parent
    except OSError:
        return git_directory.parent


def _failed(root: Root, error: Exception) -> RepoError:
    return RepoError(f"The files of {root.path} could not be written: {str(error).rstrip('.')}.", kind="write-failed",
                     hint="Nothing is lost: it goes on the next time. Is the disk full?")
