"""What a conversation does with its own branch: bring the trunk in, complete or abort that, go back to an earlier tree.

Owns the merge that stays open while conflicts are resolved: the branch stands where it was, the files carry marks, and
nothing is committed until it is completed or aborted. Everything moves through `moving`, so that a kill loses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pygit2

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.branches import Aborted, How, Moved
from thetis_kernel.repo import beneath
from thetis_kernel.repo.commit import (
    MAX_LISTED,
    changed_between,
    commit_tree,
    fit,
    record_changes,
    staged,
    subject_of,
)
from thetis_kernel.repo.identity import signatures
from thetis_kernel.repo.inspection import locate
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import GIT_ERRORS, commit_of, common_directory, objects_of
from thetis_kernel.repo.locks import locked
from thetis_kernel.repo.marker import Marker, Move, write_marker
from thetis_kernel.repo.merging import Merged, marked, merge_commits
from thetis_kernel.repo.moving import move, settled
from thetis_kernel.repo.opening import Opened, not_materialised, open_worktree
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.staging import MAX_FILE

SAVED = "refs/thetis/saved"
SHORTEST = 6
MAX_WALKED = 10_000
"""Commits of a branch among which an abbreviated one is looked for."""
BEFORE = "Work before the trunk was brought in"


@contextmanager
def at_work(root: str, branch: str, job: Job) -> Iterator[Opened]:
    """The worktree of `branch`, whole and locked. Raises RepoError `not-materialised`, `head-moved`."""
    record = record_directory(locate(root), branch)
    try:
        with locked(record, job):
            yield settled(open_worktree(record, branch), job)
    except FileNotFoundError as error:
        raise not_materialised(branch) from error


def update(root: str, branch: str, trunk: str, job: Job) -> Moved:
    """See `protocol.branches.UpdateBranch`. Raises RepoError `merge-open`, `no-trunk`, and what committing raises."""
    with at_work(root, branch, job) as opened:
        refuse_open(opened)
        return brought(committed(opened, BEFORE, job), trunk, job, leave_open=True)[1]


def brought(opened: Opened, trunk: str, job: Job, *, leave_open: bool) -> tuple[Opened, Moved]:
    """Bring `trunk` into an opened, committed worktree. Conflicts open the merge, or with `leave_open` false change nothing."""
    repository, _, marker = opened
    tip, theirs = commit_of(repository, marker.branch), _trunk(repository, trunk)
    if theirs.id == tip.id or repository.descendant_of(tip.id, theirs.id):
        return opened, Moved("current", str(tip.id), str(tip.id))
    if repository.descendant_of(theirs.id, tip.id):
        return _went(opened, tip, theirs.id, "forward", f"forward to {trunk}", job)
    merged = _merged(repository, tip, theirs)
    if merged.conflicts:
        names = [shown(path) for path in merged.conflicts]
        if leave_open:
            wanted = Move(str(tip.tree_id), str(merged.tree), "", str(theirs.id), merged.conflicts)
            opened = move(opened, wanted, "open a merge", job)
        changed = changed_between(tip.tree, repository[merged.tree].peel(pygit2.Tree))
        return opened, Moved("conflicts", str(tip.id), str(tip.id), changed[:MAX_LISTED], len(changed), names,
                             [shown(path) for path in merged.kept])
    text = f"Bring {trunk} into {marker.branch}\n"
    new = repository.create_commit(None, *signatures(repository, ""), text, merged.tree, [tip.id, theirs.id])
    return _went(opened, tip, new, "merged", f"merge {trunk}", job)


def complete(root: str, branch: str, message: str, job: Job) -> Moved:
    """See `protocol.branches.CompleteMerge`. Raises RepoError `no-merge`, `unresolved`, `branch-moved`."""
    with at_work(root, branch, job) as opened:
        repository, record, marker = opened
        if not marker.merging:
            raise _no_merge(branch)
        left = unresolved(marker)
        if left:
            raise RepoError(f"These files still hold marks of the conflict: {', '.join(left)}.", kind="unresolved",
                            hint="Make each what it should be, without the lines <<<<<<<, ======= and >>>>>>>.", paths=left)
        before = commit_of(repository, branch)
        stager, tree = staged(opened, job)
        text = message or f"Merge the trunk into {branch}"
        new = commit_tree(opened, tree, text, "", job, {marker.tip}, also=(marker.merging,))
        write_marker(record, msgspec.structs.replace(
            marker, tip=str(new or before.id), merging="", conflicts=[], gitlinks=stager.gitlinks))
        after = commit_of(repository, str(new or before.id))
        changed = changed_between(before.tree, after.tree)
        return Moved("merged", str(before.id), str(after.id), changed[:MAX_LISTED], len(changed),
                     skipped=stager.skipped[:MAX_LISTED], notes=stager.notes)


def abort(root: str, branch: str, job: Job) -> Aborted:
    """See `protocol.branches.AbortMerge`. Raises RepoError `no-merge`."""
    with at_work(root, branch, job) as opened:
        repository, _, marker = opened
        if not marker.merging:
            raise _no_merge(branch)
        tip = commit_of(repository, branch)
        _, tree = staged(opened, job)
        text = f"Files of {branch} when its merge was aborted\n"
        saved = repository.create_commit(None, *signatures(repository, ""), text, tree, [tip.id])
        keep(repository, f"{SAVED}/{branch.replace('/', '-')}", saved, job)
        opened = move(opened, Move(str(tree), str(tip.tree_id)), "abort a merge", job)
        return Aborted(str(tip.id), str(saved))


def reset(root: str, branch: str, to: str, job: Job) -> Moved:
    """See `protocol.branches.ResetBranch`. Raises RepoError `merge-open`, `unknown-commit`."""
    with at_work(root, branch, job) as opened:
        refuse_open(opened)
        repository = opened.repository
        target = _named(repository, branch, to)
        opened = committed(opened, f"Work before going back to {str(target.id)[:10]}", job)
        tip = commit_of(repository, branch)
        if tip.tree_id == target.tree_id:
            return Moved("current", str(tip.id), str(tip.id))
        text = f"Back to {str(target.id)[:10]}: {subject_of(target)}"
        new = repository.create_commit(None, *signatures(repository, ""), fit(text) + "\n", target.tree_id, [tip.id])
        return _went(opened, tip, new, "merged", text, job)[1]


def committed(opened: Opened, message: str, job: Job) -> Opened:
    """Record what stands in the worktree. Raises RepoError `not-recorded` for a change that cannot be: it might be lost."""
    done = record_changes(opened, message, "", job)
    return open_worktree(opened.record, opened.marker.branch) if done.commit else opened


def refuse_open(opened: Opened) -> None:
    """Raise RepoError `merge-open` while a merge is."""
    if opened.marker.merging:
        raise RepoError(f"A merge is open on {opened.marker.branch}.", kind="merge-open",
                        hint="Complete it once its conflicts are resolved, or abort it.")


def unresolved(marker: Marker) -> list[str]:
    """Files of an open merge that still hold marks."""
    found = []
    with beneath.opened(Path(marker.worktree)) as top:
        for path in marker.conflicts:
            if marked(beneath.read(top, path, MAX_FILE).data):
                found.append(shown(path))
    return found


def keep(repository: pygit2.Repository, prefix: str, commit: pygit2.Oid, job: Job) -> str:
    """Hold `commit` by a ref of ours below `prefix`; the ref's name."""
    name = f"{prefix}/{time.time_ns() // 1_000_000}"
    with locked(common_directory(repository) / "refs", job):
        while name in repository.references:
            name += "-1"
        repository.references.create(name, commit)
    return name


def _went(
    opened: Opened, tip: pygit2.Commit, new: pygit2.Oid, how: How, message: str, job: Job
) -> tuple[Opened, Moved]:
    target = commit_of(opened.repository, str(new))
    opened = move(opened, Move(str(tip.tree_id), str(target.tree_id), str(new)), message, job)
    changed = changed_between(tip.tree, target.tree)
    return opened, Moved(how, str(tip.id), str(new), changed[:MAX_LISTED], len(changed))


def _merged(repository: pygit2.Repository, tip: pygit2.Commit, theirs: pygit2.Commit) -> Merged:
    with objects_of(common_directory(repository)) as objects:
        try:
            return merge_commits(objects, commit_of(objects, str(tip.id)), commit_of(objects, str(theirs.id)))
        except GIT_ERRORS as error:
            raise RepoError(f"The trunk cannot be merged: {error}.", kind="no-trunk",
                            hint="Have the branches a commit in common?") from error


def _trunk(repository: pygit2.Repository, trunk: str) -> pygit2.Commit:
    try:
        return commit_of(repository, trunk)
    except RepoError as error:
        raise RepoError(f"The trunk {trunk or '(none)'} is gone.", kind="no-trunk",
                        hint="The branch this conversation began from must exist to be brought in.") from error


def _named(repository: pygit2.Repository, branch: str, to: str) -> pygit2.Commit:
    """The commit of the branch's own history that `to` names."""
    wanted = to.strip().lower()
    found: list[pygit2.Commit] = []
    if SHORTEST <= len(wanted) <= 40 and all(digit in "0123456789abcdef" for digit in wanted):
        for number, commit in enumerate(repository.walk(commit_of(repository, branch).id)):
            if str(commit.id).startswith(wanted):
                found.append(commit)
            if number > MAX_WALKED:
                break
    if len(found) != 1:
        raise RepoError(f"{to[:60]!r} names {'no' if not found else 'more than one'} commit of {branch}.",
                        kind="unknown-commit", hint="Take one from the branch's log, at least its first 6 digits.")
    return found[0]


def _no_merge(branch: str) -> RepoError:
    return RepoError(f"No merge is open on {branch}.", kind="no-merge")
