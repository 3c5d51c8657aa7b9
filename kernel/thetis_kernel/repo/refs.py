"""Branches: made once, moved only from where they were seen to stand.

Owns compare-and-swap on a ref, its retries and its stale lock files; must not know what a commit holds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pygit2

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import ref_name
from thetis_kernel.repo.library import GIT_ERRORS, common_directory
from thetis_kernel.repo.locks import locked, settle

TRIES = 5
"""Reliability R28."""

Build = Callable[[pygit2.Oid], pygit2.Oid | None]
"""From the tip a branch has to the tip it shall have; None to leave it."""


def tip_of(repository: pygit2.Repository, branch: str) -> pygit2.Oid | None:
    """The commit `branch` points at; None when there is no such branch."""
    try:
        return repository.references[ref_name(branch)].peel(pygit2.Commit).id
    except KeyError:
        return None


def create(repository: pygit2.Repository, branch: str, commit: pygit2.Oid, job: Job) -> None:
    """Make `branch` at `commit`; leaves it where it is when it exists. Raises RepoError `locked`, `branch-named-conv`."""
    name = ref_name(branch)
    for attempt in range(TRIES):
        if tip_of(repository, branch) is not None:
            return
        try:
            repository.references.create(name, commit)
            return
        except GIT_ERRORS as error:
            _recover(repository, name, attempt, job, str(error))
    raise _contended(branch)


def advance(repository: pygit2.Repository, branch: str, build: Build, message: str, job: Job) -> pygit2.Oid | None:
    """Move `branch` to what `build` makes of its tip, if nobody moved it meanwhile; else build again on the new tip.

    Our own processes queue, so that a busy one cannot starve another; git commands of the user's are only ever
    noticed. Returns the new tip, None when `build` declined. Raises RepoError `contended` after TRIES, `no-branch`.
    """
    name = ref_name(branch)
    with locked(common_directory(repository) / "refs", job):
        for attempt in range(TRIES):
            try:
                reference = repository.references[name]
            except KeyError:
                raise RepoError(f"The branch {branch} is gone.", kind="no-branch") from None
            if not isinstance(reference.target, pygit2.Oid):
                raise RepoError(f"{branch} is only another name for {reference.target}.", kind="no-branch")
            new = build(reference.target)
            if new is None:
                return None
            try:
                reference.set_target(new, message)  # fails unless the ref still is what `reference` was read as
                return new
            except GIT_ERRORS as error:
                _recover(repository, name, attempt, job, str(error))
    raise _contended(branch)


def delete_if_at(repository: pygit2.Repository, branch: str, commit: pygit2.Oid) -> bool:
    """Delete `branch` if it still stands at `commit` and another branch or tag reaches that: nothing can be lost then
    (complaints 102). Whether it was deleted."""
    name = ref_name(branch)
    if tip_of(repository, branch) != commit or not reached_elsewhere(repository, branch, commit):
        return False
    try:
        repository.references.delete(name)
    except GIT_ERRORS:
        return False
    return True


def reached_elsewhere(repository: pygit2.Repository, branch: str, commit: pygit2.Oid) -> bool:
    """Whether another branch than `branch`, a tag or a remote's branch reaches `commit`."""
    name = ref_name(branch)
    for other in repository.references:
        if other == name or not other.startswith(("refs/heads/", "refs/tags/", "refs/remotes/")):
            continue
        try:
            target = repository.references[other].peel(pygit2.Commit).id
        except GIT_ERRORS:
            continue
        if target == commit or repository.descendant_of(target, commit):
            return True
    return False


def _recover(repository: pygit2.Repository, name: str, attempt: int, job: Job, told: str) -> None:
    """Make the next attempt worth while, or raise when there is no point in one."""
    common = common_directory(repository)
    lock = common / f"{name}.lock"
    if lock.exists():
        settle(lock, [common, common.parent], job)
        return
    if _blocked_by_branch(common / name):
        raise RepoError(f"{name} cannot be: a branch of a shorter name is in its way.", kind="branch-named-conv")
    if "does not match" not in told and "lock" not in told and "already exists" not in told:
        raise RepoError(f"{name} cannot be moved: {told}.", kind="ref-failed")
    job.check()
    time.sleep(random.uniform(0.2, 1.0) * 0.01 * 2**attempt)


def _blocked_by_branch(path: Path) -> bool:
    return path.parent.is_file()


def _contended(branch: str) -> RepoError:
    return RepoError(
        f"{branch} was moved by another program {TRIES} times in a row.",
        kind="contended",
        hint="End what else commits to it, then try again.",
    )
