"""A conversation's branch lands on its trunk: one commit, made only when a person asked for exactly this.

Owns the order of steps. The trunk comes into the branch first (in the conversation's worktree, where conflicts can do no
harm), the branch's own commits are kept by a ref of ours, the target moves by compare-and-swap, and last the branch stands
on the new commit itself, so that what follows is compared with it. Killed between any two, the target is either where it
was or at the whole result, and asking again goes on.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import msgspec
import pygit2

from thetis_kernel.crash import point
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.branches import Landed, Plan
from thetis_kernel.repo import refs
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.branching import at_work, brought, committed, keep, refuse_open
from thetis_kernel.repo.commit import MAX_LISTED, changed_between, fit, subject_of
from thetis_kernel.repo.forward import Place, checked_out, finish_forward, go_forward, place_of
from thetis_kernel.repo.identity import signatures
from thetis_kernel.repo.inspection import Root, open_root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import HEADS
from thetis_kernel.repo.library import commit_of, objects_of
from thetis_kernel.repo.marker import write_marker
from thetis_kernel.repo.merging import merge_commits
from thetis_kernel.repo.opening import Opened
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.switching import differences

PRESQUASH = "refs/thetis/presquash"
MAX_SUBJECTS = 60
MAX_NAMED = 50
BEFORE = "Work before the branch lands"


class _Target(NamedTuple):
    """Where it lands: the branch, its commit, whether it is still to be made, where it is checked out."""

    name: str
    commit: pygit2.Commit
    new: bool
    place: Place | None


def plan(root: str, branch: str, trunk: str, target: str, job: Job) -> Plan:
    """See `protocol.branches.PlanLanding`. Raises RepoError `no-trunk`, `bad-name`, `not-materialised`."""
    opened_root = open_root(root)
    finish_forward(opened_root, job)
    goal = _target(opened_root, trunk, target)
    with at_work(root, branch, job) as opened:
        repository = opened.repository
        tip = commit_of(repository, branch)
        with objects_of(opened_root.common) as objects:
            merged = merge_commits(objects, commit_of(objects, str(tip.id)), commit_of(objects, str(goal.commit.id)))
        result = repository[merged.tree].peel(pygit2.Tree)
        changed = changed_between(goal.commit.tree, result)
        walker = repository.walk(tip.id)
        walker.hide(goal.commit.id)
        subjects = [subject_of(each) for each in itertools.islice(walker, MAX_SUBJECTS)]
        blocked = [str(error) for error in _blocks(opened, opened_root, goal, result)]
    dirty = checked_out(opened_root, goal.place, goal.commit, result)[:MAX_NAMED] if goal.place and goal.place.ours else []
    return Plan(
        how="conflicts" if merged.conflicts else "ready" if changed else "nothing", tip=str(tip.id), target=goal.name,
        onto=str(goal.commit.id), changed=changed[:MAX_LISTED], total=len(changed),
        conflicts=[shown(path) for path in merged.conflicts], place=str(goal.place.path) if goal.place else "",
        ours=bool(goal.place and goal.place.ours), dirty=dirty, blocked=blocked, subjects=subjects,
    )  # fmt: skip


def land(
    root: str, branch: str, *, trunk: str, target: str, tip: str, onto: str, message: str, job: Job
) -> Landed:
    """See `protocol.branches.LandBranch`. Raises RepoError of the kinds it names; then nothing of the target has changed."""
    opened_root = open_root(root)
    finish_forward(opened_root, job)
    goal = _target(opened_root, trunk, target)
    with at_work(root, branch, job) as opened:
        refuse_open(opened)
        if str(commit_of(opened.repository, branch).id) != tip or str(goal.commit.id) != onto:
            raise RepoError(f"{branch} or {goal.name} has moved since this was shown.", kind="moved", hint="Look at it again.")
        opened = committed(opened, BEFORE, job)
        came_in = (not goal.new and goal.name) or trunk
        opened, moved = brought(opened, came_in, job, leave_open=False)
        if moved.how == "conflicts":
            raise RepoError(f"{branch} and {goal.name} changed the same lines of {', '.join(moved.conflicts[:5])}.",
                            kind="conflicts", hint="Let the conversation resolve them.", paths=moved.conflicts[:MAX_NAMED])
        repository = opened.repository
        whole = commit_of(repository, branch)
        for error in _blocks(opened, opened_root, goal, whole.tree):
            raise error
        changed = changed_between(goal.commit.tree, whole.tree)
        if not changed:
            raise RepoError(f"{goal.name} has everything {branch} has.", kind="nothing")
        kept = keep(repository, f"{PRESQUASH}/{branch.replace('/', '-')}", whole.id, job)
        point("merge.kept")
        squash = repository.create_commit(None, *signatures(repository, ""), fit(message), whole.tree_id, [goal.commit.id])
        notes = _move_target(opened_root, goal, squash, job)
        point("merge.landed")
        _stand_on(opened, whole.id, squash, job)
        return Landed(str(squash), str(goal.commit.id), goal.name, kept, len(changed),
                      checked_out=bool(goal.place), notes=notes)  # fmt: skip


def _target(root: Root, trunk: str, target: str) -> _Target:
    repository = root.repository
    name = target or trunk
    odd = not name.isprintable() or name.startswith(("-", "conv/"))
    if odd or not pygit2.reference_is_valid_name(HEADS + name):
        raise RepoError(f"{name[:80]!r} is no branch a conversation can land on.", kind="bad-name",
                        hint="Name a branch: --into NAME.")  # fmt: skip
    there = refs.tip_of(repository, name)
    if there is None and not target:
        raise RepoError(f"The trunk {name} is gone.", kind="no-trunk", hint="Name a branch to land on: --into NAME.")
    commit = commit_of(repository, name if there is not None else trunk)
    return _Target(name, commit, there is None, place_of(root, name))


def _blocks(opened: Opened, root: Root, goal: _Target, result: pygit2.Tree) -> list[RepoError]:
    """What stands against landing `result`: an open merge, files a filter owns, a checkout with work in it."""
    found = []
    if opened.marker.merging:
        found.append(RepoError(f"A merge is open on {opened.marker.branch}.", kind="merge-open",
                               hint="Let the conversation complete or abort it first."))  # fmt: skip
    attributes = Attributes(opened.repository, opened.record, opened.marker.base)
    filtered = [shown(one.path) for one in differences(goal.commit.tree, result) if one.new and attributes.reason(one.path)]
    if filtered:
        found.append(RepoError(f"A filter owns {', '.join(filtered[:5])}: git would have to run it.", kind="filtered",
                               hint=f"Merge by yourself: git merge {opened.marker.branch}", paths=filtered[:MAX_NAMED]))
    if goal.place is None:
        return found
    if not goal.place.ours:
        found.append(RepoError(f"{goal.name} is checked out in {goal.place.path}.", kind="checked-out-elsewhere",
                               hint=f"Merge there: git merge --squash {opened.marker.branch}"))  # fmt: skip
    else:
        dirty = checked_out(root, goal.place, goal.commit, result)
        if dirty:
            found.append(RepoError(
                f"The checkout has uncommitted work: {', '.join(dirty[:5])}{' and more' if len(dirty) > 5 else ''}.",
                kind="dirty", paths=dirty[:MAX_NAMED],
                hint=f"Commit or stash it, or land on a branch of its own: --into {opened.marker.branch.replace('/', '-')}"))
    return found


def _move_target(root: Root, goal: _Target, squash: pygit2.Oid, job: Job) -> list[str]:
    """The target stands at `squash`; where it is checked out its files and index went along."""
    repository = root.repository
    if goal.new:
        refs.create(repository, goal.name, squash, job)
        return [] if refs.tip_of(repository, goal.name) == squash else [f"{goal.name} was made by somebody else meanwhile."]
    if goal.place is not None:
        return go_forward(root, goal.name, goal.commit, commit_of(repository, str(squash)), job)

    def build(now: pygit2.Oid) -> pygit2.Oid:
        if now != goal.commit.id:
            raise RepoError(f"{goal.name} has moved since this was shown.", kind="moved", hint="Look at it again.")
        return squash

    refs.advance(repository, goal.name, build, "thetis: merge a conversation", job)
    return []


def _stand_on(opened: Opened, whole: pygit2.Oid, squash: pygit2.Oid, job: Job) -> None:
    """The branch goes on from the landed commit, whose tree it has already."""
    repository, record, marker = opened
    def build(now: pygit2.Oid) -> pygit2.Oid | None:
        return squash if now == whole else None  # somebody committed: their commit stays where it is

    if refs.advance(repository, marker.branch, build, "thetis: landed", job) is not None:
        write_marker(record, msgspec.structs.replace(marker, tip=str(squash), base=str(squash)))
