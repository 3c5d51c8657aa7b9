"""A conversation's worktree goes to another tree, its branch with it, and a kill at any point is finished later.

Owns the order: what is to happen stands in the marker first, then the branch moves (compare-and-swap), then the files,
then the index, then the marker says that it is done. `settled` goes on from wherever that was cut. A file somebody changed
meanwhile is left as it is and counts as an uncommitted change.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
import pygit2

from thetis_kernel.crash import point
from thetis_kernel.errors import RepoError
from thetis_kernel.repo import beneath, refs
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.library import GIT_ERRORS
from thetis_kernel.repo.marker import Move, write_marker
from thetis_kernel.repo.opening import Opened, settle_index
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.switching import Difference, differences, put_all, standing

MAX_NAMED = 20


def move(opened: Opened, wanted: Move, message: str, job: Job) -> Opened:
    """Do all of `wanted`; the opened worktree as it is afterwards. The caller holds the record's lock and has committed.

    Raises RepoError `changed-meanwhile` before anything is touched, `contended`, `branch-moved`, `write-failed`.
    """
    _, record, marker = opened
    _check(opened, wanted)
    opened = _marked(opened, move=wanted)
    point("branch.planned")
    if wanted.commit:
        try:
            _advance(opened, wanted, message, job)
        except RepoError:
            write_marker(record, marker)  # nothing has moved
            raise
    point("branch.moved")
    return _finish(opened, wanted, {"old"}, job)


def settled(opened: Opened, job: Job) -> Opened:
    """Finish what a kill cut; the same when nothing was. The caller holds the record's lock."""
    wanted = opened.marker.move
    if wanted is None:
        return opened
    tip = refs.tip_of(opened.repository, opened.marker.branch)
    if wanted.commit and str(tip) != wanted.commit:
        return _marked(opened, move=None)  # the branch had not moved, so nothing had
    return _finish(opened, wanted, {"old", "begun"}, job)


def _finish(opened: Opened, wanted: Move, replaced: Collection[str], job: Job) -> Opened:
    """The files, the index, the marker."""
    repository, _, marker = opened
    worktree = Path(marker.worktree)
    settle_index(opened, job)
    try:
        with unstuck(worktree) as beat, beneath.opened(worktree) as top:
            attributes = Attributes(repository)
            chosen: list[Difference] = []
            for one in _differences(opened, wanted):
                beat()
                if standing(repository, attributes, top, one) in replaced:
                    chosen.append(one)
            put_all(repository, top, chosen, Job(check=beat))  # not to be withdrawn half-way
            point("branch.files")
        held = wanted.commit or str(refs.tip_of(repository, marker.branch))
        repository.index.read_tree(repository[held].peel(pygit2.Tree))
        repository.index.write()
    except GIT_ERRORS as error:
        raise RepoError(f"The files of {marker.branch} could not be written: {str(error).rstrip('.')}.", kind="write-failed",
                        hint="Nothing is lost; it goes on the next time. Is the disk full?") from error
    return _marked(opened, move=None, tip=wanted.commit or marker.tip, merging=wanted.merging, conflicts=wanted.conflicts)


def _check(opened: Opened, wanted: Move) -> None:
    """Refuse when a file that would be written is not what the old tree has."""
    repository, _, marker = opened
    worktree = Path(marker.worktree)
    with unstuck(worktree) as beat, beneath.opened(worktree) as top:
        attributes = Attributes(repository)
        other = []
        for one in _differences(opened, wanted):
            beat()
            if standing(repository, attributes, top, one) not in ("old", "new"):
                other.append(shown(one.path))
    if other:
        raise RepoError(
            f"Files of {marker.branch} are not as they were committed: {', '.join(other[:MAX_NAMED])}.",
            kind="changed-meanwhile", hint="Commit or move them away, and end what writes them.", paths=other[:MAX_NAMED],
        )  # fmt: skip


def _differences(opened: Opened, wanted: Move) -> list[Difference]:
    repository = opened.repository
    return differences(repository[wanted.old].peel(pygit2.Tree), repository[wanted.new].peel(pygit2.Tree))


def _advance(opened: Opened, wanted: Move, message: str, job: Job) -> None:
    marker = opened.marker

    def build(tip: pygit2.Oid) -> pygit2.Oid:
        if str(tip) not in (marker.tip, wanted.commit):
            raise RepoError(f"{marker.branch} was moved to {str(tip)[:10]} while its worktree stands on {marker.tip[:10]}.",
                            kind="branch-moved", hint="Look at it with git, then try again.")
        return pygit2.Oid(hex=wanted.commit)

    try:
        refs.advance(opened.repository, marker.branch, build, f"thetis: {message}", job)
    except GIT_ERRORS as error:
        raise RepoError(f"{marker.branch} could not be moved: {error}.", kind="write-failed") from error


def _marked(opened: Opened, **changed: object) -> Opened:
    marker = msgspec.structs.replace(opened.marker, **changed)
    write_marker(opened.record, marker)
    return opened._replace(marker=marker)
