"""From a snapshot back to files: exactly what it holds, touching only what differs from what stands there.

What stands there is kept first, so nothing is lost and going back again is possible. A kill in between leaves a mixture
whose repetition ends at the same files. What no snapshot holds is never overwritten and never removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode

from thetis_kernel.crash import point
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Skipped
from thetis_kernel.protocol.snapshots import Restored
from thetis_kernel.repo import beneath
from thetis_kernel.repo.inspection import locate
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import commit_of
from thetis_kernel.repo.locks import locked
from thetis_kernel.repo.opening import not_materialised, open_worktree
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.snapshots.taking import chained, keep

_KINDS = {FileMode.BLOB: ("file", False), FileMode.BLOB_EXECUTABLE: ("file", True), FileMode.LINK: ("link", False)}


class Place(NamedTuple):
    """One entry of a tree: git's mode and the id of its content."""

    mode: int
    id: pygit2.Oid


def restore(root: str, branch: str, commit: str, session: str, seq: int, job: Job) -> Restored:
    """See `protocol.snapshots.RestoreSnapshot`. Raises RepoError `merge-open` too: then the merge is ended first."""
    record = record_directory(locate(root), branch)
    try:
        with locked(record, job):
            opened = open_worktree(record, branch)
            if opened.marker.merging:
                raise RepoError("A merge of the trunk is open on this branch.", kind="merge-open",
                                hint="Complete it or abort it, then rewind.")
            repository = opened.repository
            wanted = commit_of(repository, commit)
            kept = keep(opened, job)
            before = chained(opened, kept, session, seq)
            point("snapshot.restore")
            with beneath.opened(Path(opened.marker.worktree)) as top:
                writing = _Writing(repository, top, kept.left_out, job)
                writing.run(kept.tree, wanted.tree_id)
    except FileNotFoundError as error:
        raise not_materialised(branch) from error
    return Restored(before.commit, writing.written, writing.removed, writing.kept)


class _Writing:
    """Counts what it does; `kept` grows with what it must leave."""

    def __init__(self, repository: pygit2.Repository, top: int, left_out: dict[bytes, str], job: Job) -> None:
        self.written = self.removed = 0
        self.kept: list[Skipped] = []
        self._repository = repository
        self._top = top
        self._left_out = left_out
        self._above = {head: path for path in left_out for head in _heads(path)}
        self._told: set[bytes] = set()
        self._job = job

    def run(self, now: pygit2.Oid, wanted: pygit2.Oid) -> None:
        """Turn the files of the tree `now` into those of the tree `wanted`."""
        gone: list[tuple[bytes, Place]] = []
        come: list[tuple[bytes, Place]] = []
        for path, before, after in differences(self._repository, now, wanted):
            if before is not None and (after is None or _is_tree(before) != _is_tree(after)):
                gone.append((path, before))
            if after is not None:
                come.append((path, after))
        for path, place in sorted(gone, reverse=True):  # what is in a directory before the directory
            self._remove(path, place)
            point("snapshot.restoring")
        for path, place in sorted(come):
            self._job.check()
            self._write(path, place)
            point("snapshot.restoring")

    def _remove(self, path: bytes, place: Place) -> None:
        if _is_tree(place):
            with suppress(OSError):  # not empty: something is in it that no snapshot holds
                beneath.remove_directory(self._top, path)
            return
        beneath.remove_entry(self._top, path)
        self.removed += 1

    def _write(self, path: bytes, place: Place) -> None:
        holding = next((head for head in (*_heads(path), path) if head in self._left_out), None)
        if holding is None and not _is_tree(place):
            holding = self._above.get(path)  # a directory may stand there already, a file would take its place
        if holding is not None:
            if holding not in self._told:
                self._told.add(holding)
                self.kept.append(Skipped(shown(path), f"{shown(holding)} stands there, and no snapshot holds it"))
            return
        if _is_tree(place):
            beneath.make_directory(self._top, path)
            return
        kind, executable = _KINDS[FileMode(place.mode)]
        data = self._repository[place.id].read_raw()
        beneath.write(self._top, path, beneath.Entry(kind, executable, data))  # type: ignore[arg-type]
        self.written += 1


def _heads(path: bytes) -> Iterator[bytes]:
    """The directories above a path, the topmost first."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


def differences(repository: pygit2.Repository, now: pygit2.Oid, wanted: pygit2.Oid,
                prefix: bytes = b"") -> Iterator[tuple[bytes, Place | None, Place | None]]:
    """(path, what `now` has there, what `wanted` has there) where they differ; directories before what is in them."""
    if now == wanted:
        return
    ours, theirs = _entries(repository, now), _entries(repository, wanted)
    for name in sorted(ours.keys() | theirs.keys()):
        before, after = ours.get(name), theirs.get(name)
        if before == after:
            continue
        path = prefix + name
        both_trees = before is not None and after is not None and _is_tree(before) and _is_tree(after)
        if not both_trees:
            yield path, before, after
        empty = repository.TreeBuilder().write() if not both_trees else None
        old = before.id if before is not None and _is_tree(before) else empty
        new = after.id if after is not None and _is_tree(after) else empty
        if old is not None and new is not None:
            yield from differences(repository, old, new, path + b"/")


def _entries(repository: pygit2.Repository, tree: pygit2.Oid) -> dict[bytes, Place]:
    found = repository[tree].peel(pygit2.Tree)
    return {entry.raw_name: Place(int(entry.filemode), entry.id) for entry in found if entry.raw_name is not None}


def _is_tree(place: Place) -> bool:
    return place.mode == FileMode.TREE
