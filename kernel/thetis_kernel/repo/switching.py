"""What differs between two trees, and bringing the files of a working tree from the one to the other.

Owns the rule that nobody's work is written over: a file is replaced only while it holds what the old tree has, or a
beginning of what the new one has, which is what a kill in the middle leaves. Writes through `beneath`, so that no link
in the working tree leads it elsewhere. Must not know branches, markers or indexes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import pygit2
from pygit2.enums import DeltaStatus, DiffOption, FileMode

from thetis_kernel.repo import beneath
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.staging import MAX_FILE

Standing = Literal["old", "new", "begun", "other"]
_FILES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE, FileMode.LINK)


class Side(NamedTuple):
    """What a tree has at a path: a blob and how it stands on disk. `kind` other: a submodule, which is nobody's to write."""

    id: pygit2.Oid
    mode: int

    @property
    def plain(self) -> bool:
        """Whether it is a file or a link."""
        return self.mode in [int(mode) for mode in _FILES]


class Difference(NamedTuple):
    """One path; a side is None where the tree does not have it."""

    path: bytes
    old: Side | None
    new: Side | None


def differences(old: pygit2.Tree, new: pygit2.Tree) -> list[Difference]:
    """The paths that differ, submodules left out, in order of names."""
    found: list[Difference] = []
    for delta in old.diff_to_tree(new, flags=DiffOption.INCLUDE_TYPECHANGE).deltas:
        before = None if delta.status == DeltaStatus.ADDED else _side(delta.old_file)
        after = None if delta.status == DeltaStatus.DELETED else _side(delta.new_file)
        path = (delta.old_file if after is None else delta.new_file).raw_path
        if all(side is None or side.plain for side in (before, after)):
            found.append(Difference(path, before, after))
    return sorted(found)


def standing(repository: pygit2.Repository, attributes: Attributes, top: int, one: Difference) -> Standing:
    """What the working tree has at the path. Raises OSError when it cannot be read."""
    entry = beneath.read(top, one.path, MAX_FILE)
    if _is(repository, attributes, entry, one.new, one.path):
        return "new"
    if _is(repository, attributes, entry, one.old, one.path):
        return "old"
    if entry.kind == "missing":
        return "begun"
    if entry.kind == "file" and one.new is not None:
        whole = smudged(repository, one.path, _data(repository, one.new))
        return "begun" if len(entry.data) < len(whole) and whole.startswith(entry.data) else "other"
    return "other"


def put(repository: pygit2.Repository, top: int, one: Difference) -> None:
    """Make the path what the new tree has. Raises OSError."""
    if one.new is None:
        beneath.remove(top, one.path)
        return
    data = _data(repository, one.new)
    link = one.new.mode == int(FileMode.LINK)
    executable = one.new.mode == int(FileMode.BLOB_EXECUTABLE)
    beneath.write(top, one.path, beneath.Entry("link" if link else "file", executable,
                                               data if link else smudged(repository, one.path, data)))


def put_all(repository: pygit2.Repository, top: int, wanted: list[Difference], job: Job) -> None:
    """`put` each: what goes first, so that a file may stand where a directory was."""
    for one in sorted(wanted, key=lambda each: each.new is not None):
        job.check()
        put(repository, top, one)


def smudged(repository: pygit2.Repository, path: bytes, data: bytes) -> bytes:
    """Content as git writes it into a working tree: line ends, by configuration and attributes."""
    return Attributes(repository).smudged(path, data)


def _side(file: pygit2.DiffFile) -> Side:
    return Side(file.id, int(file.mode))


def _data(repository: pygit2.Repository, side: Side) -> bytes:
    found = repository[side.id]
    return found.data if isinstance(found, pygit2.Blob) else b""


def _is(
    repository: pygit2.Repository, attributes: Attributes, entry: beneath.Entry, side: Side | None, path: bytes
) -> bool:
    if side is None:
        return entry.kind == "missing"
    if side.mode == int(FileMode.LINK):
        return entry.kind == "link" and entry.data == _data(repository, side)
    if entry.kind != "file" or entry.executable != (side.mode == int(FileMode.BLOB_EXECUTABLE)):
        return False
    return entry.data == _data(repository, side) or bool(pygit2.hash(attributes.cleaned(path, entry.data)) == side.id)
