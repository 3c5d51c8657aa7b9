"""Taking the root's uncommitted files along: copied into a fresh worktree and committed there, the root untouched.

Owns which files go; what is recorded of them is the stager's to decide, as for any other commit.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pygit2.enums import DeltaStatus

from thetis_kernel.protocol.git import Skipped
from thetis_kernel.repo import beneath
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.changes import Change, root_changes
from thetis_kernel.repo.commit import commit_tree, stage
from thetis_kernel.repo.inspection import Root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.opening import Opened
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import count, shown
from thetis_kernel.repo.staging import MAX_FILE

MESSAGE = "Uncommitted files of the checkout, taken along"


class Carried(NamedTuple):
    """How many paths came along, which did not, and what to know."""

    total: int
    skipped: list[Skipped]
    notes: list[str]


def carry_changes(root: Root, opened: Opened, job: Job) -> Carried:
    """Copy and commit what the root changed since its commit, on which the worktree must stand.

    Raises RepoError `changes-unknown` and what committing raises.
    """
    skipped: list[Skipped] = []
    copied: list[Change] = []
    worktree = Path(opened.marker.worktree)
    with (
        job.phase("changes") as counter,
        unstuck(root.path) as beat,
        beneath.opened(root.path) as source,
        beneath.opened(worktree) as target,
    ):
        changes = root_changes(root)
        counter.total = len(changes)
        attributes = Attributes(root.repository)
        # What is gone first, so that a directory can be made where a file was.
        for change in sorted(changes, key=lambda each: each.status != DeltaStatus.DELETED):
            job.check()
            beat()
            why = _copy(change.path, source, target, attributes)
            if why:
                skipped.append(Skipped(shown(change.path), why))
            else:
                copied.append(change)
            counter.done += 1
        stager = stage(opened, job, target)
        stager.stage(copied)
    tree = opened.repository.index.write_tree()
    opened.repository.index.write()
    commit_tree(opened, tree, f"{MESSAGE}\n\n{count(len(copied), 'path')}.", "", job, {opened.marker.tip})
    return Carried(len(copied), skipped + stager.skipped, stager.notes)


def _copy(path: bytes, source: int, target: int, attributes: Attributes) -> str:
    """Make `path` in the worktree what it is in the root; why not, as a clause, else ""."""
    if path.endswith(b"/"):
        return "it is a git repository of its own"
    try:
        entry = beneath.read(source, path, MAX_FILE)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    match entry.kind:
        case "missing" | "directory":
            beneath.remove(target, path)
        case "special":
            return "it is a pipe, socket or device"
        case "large":
            return f"it is larger than {MAX_FILE // 1024 // 1024} MiB"
        case "file" | "link":
            reason = attributes.reason(path)
            if reason:
                return reason
            beneath.write(target, path, entry)
    return ""
