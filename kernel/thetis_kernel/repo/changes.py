"""What differs between a working tree and what git has of it.

Owns how a tree is compared: submodules are left out (comparing them would open repositories an agent made) and the
root's index is never written, not even its cached times. Calls here let other threads run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import DeltaStatus, DiffOption

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Changes
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.inspection import Root, open_root
from thetis_kernel.repo.library import GIT_ERRORS
from thetis_kernel.repo.marker import read_marker
from thetis_kernel.repo.peculiarities import NOTICES, is_sparse
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown

COMPARED = (
    DiffOption.INCLUDE_UNTRACKED
    | DiffOption.RECURSE_UNTRACKED_DIRS
    | DiffOption.INCLUDE_TYPECHANGE
    | DiffOption.IGNORE_SUBMODULES
)
MAX_NAMED = 200
"""Paths a count names."""
MAX_LOOKED_UP = 2000
"""Paths of a count whose attributes are looked at (60 us each); more count as ordinary changes."""


class Change(NamedTuple):
    """One path: `old_mode` and `old_id` are what git has of it, 0 and None when nothing. A repository inside the tree
    has a path that ends in "/"."""

    path: bytes
    status: DeltaStatus
    old_mode: int
    old_id: pygit2.Oid | None


def index_changes(repository: pygit2.Repository, *, update: bool = False) -> list[Change]:
    """What the working tree changed since the index, but for what was brought from the root (`bring`).

    `update` lets libgit2 write refreshed times into the index.
    """
    flags = COMPARED | (DiffOption.UPDATE_INDEX if update else DiffOption.NORMAL)
    found = _listed(repository.index.diff_to_workdir(flags=flags))
    marker = read_marker(Path(repository.path))  # of a worktree of ours; its record is not for agents to write
    if marker is None or not marker.brought:
        return found
    brought = tuple(os.fsencode(name) for name in marker.brought)
    below = tuple(name + b"/" for name in brought)
    return [change for change in found if change.path.rstrip(b"/") not in brought and not change.path.startswith(below)]


def tree_changes(repository: pygit2.Repository, tree: pygit2.Tree) -> list[Change]:
    """What the working tree changed since `tree`, staged or not, each path once, sorted. Run it within `unstuck`."""
    found = {
        change.path: change
        for change in _listed(repository.index.diff_to_tree(tree, flags=DiffOption.IGNORE_SUBMODULES))
    }
    for change in index_changes(repository):
        staged = found.get(change.path)
        found[change.path] = change if staged is None else change._replace(old_mode=staged.old_mode, old_id=staged.old_id)
    return [found[path] for path in sorted(found)]


def root_changes(root: Root) -> list[Change]:
    """What the checkout changed since its commit. Raises RepoError `changes-unknown` where that cannot be told."""
    if is_sparse(root.repository):
        raise _unknown(NOTICES["sparse"][0])
    with unstuck(root.path):
        try:
            return tree_changes(root.repository, root.head.tree)
        except GIT_ERRORS as error:
            if "unsupported mandatory extension" in str(error):
                raise _unknown(NOTICES["split-index"][0]) from error
            raise _unknown(f"The checkout cannot be compared with its commit: {error}.") from error


def count_changes(path: str) -> Changes:
    """How many uncommitted files the root at `path` has; `known` false with the reason where that cannot be told."""
    root = open_root(path)
    try:
        changes = root_changes(root)
    except RepoError as error:
        if error.kind != "changes-unknown":
            raise
        return Changes(known=False, sentence=error.message)
    attributes = Attributes(root.repository)
    filtered = {change.path for change in changes[:MAX_LOOKED_UP] if attributes.reason(change.path)}
    plain = [change.path for change in changes if change.path not in filtered]
    return Changes(
        known=True, count=len(plain), paths=[shown(name) for name in plain[:MAX_NAMED]], uncertain=len(filtered)
    )


def worktree_dirt(repository: pygit2.Repository) -> int:
    """How many paths of an opened worktree are not committed."""
    with unstuck(Path(repository.workdir)):
        return len(tree_changes(repository, repository.head.peel(pygit2.Commit).tree))


def _listed(diff: pygit2.Diff) -> list[Change]:
    found: list[Change] = []
    for delta in diff.deltas:
        file = delta.old_file if delta.status == DeltaStatus.DELETED else delta.new_file
        old = delta.old_file if int(delta.old_file.mode) else None
        found.append(
            Change(file.raw_path, DeltaStatus(delta.status), int(old.mode) if old else 0, old.id if old else None)
        )
    return found


def _unknown(sentence: str) -> RepoError:
    return RepoError(sentence, kind="changes-unknown")
