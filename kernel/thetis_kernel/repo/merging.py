"""Three-way merges in memory: no working tree, no index of anybody's, no program of an attribute file.

Owns what a conflict looks like: files that cannot be merged carry marks, others keep the branch's version and are named.
Knows trees and commits, not branches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pygit2
from pygit2 import Commit, IndexEntry, Tree

from thetis_kernel.repo.library import GIT_ERRORS

MARK = re.compile(rb"^(<{7} |>{7} )", re.MULTILINE)
"""How a line of an unresolved conflict begins, in what git and we write."""
OURS, THEIRS = "this conversation", "the trunk"


class Merged(NamedTuple):
    """`tree` holds the result, marks included; `conflicts` are its unresolved paths, `kept` those of them without marks:
    one side removed the file, or it is no text, so the branch's version (or the one there is) stands."""

    tree: pygit2.Oid
    conflicts: list[bytes]
    kept: list[bytes]


def merge_commits(repository: pygit2.Repository, ours: Commit, theirs: Commit) -> Merged:
    """Merge two commits over what they began from. `repository`: objects alone (`library.objects_of`). Raises GIT_ERRORS."""
    return _settled(repository, repository.merge_commits(ours.id, theirs.id), (OURS, THEIRS))


def merge_trees(repository: pygit2.Repository, base: Tree, ours: Tree, theirs: Tree, names: Sequence[str]) -> Merged:
    """Merge two trees over a third; `names` stand in the marks for ours and theirs. Raises GIT_ERRORS."""
    return _settled(repository, repository.merge_trees(base.id, ours.id, theirs.id), names)


def marked(data: bytes) -> bool:
    """Whether a file still holds marks of a conflict."""
    return bool(MARK.search(data))


def _settled(repository: pygit2.Repository, index: pygit2.Index, names: Sequence[str]) -> Merged:
    conflicts: list[bytes] = []
    kept: list[bytes] = []
    for base, ours, theirs in list(index.conflicts or ()):
        path = next(side.path for side in (ours, theirs, base) if side is not None)
        raw = path.encode("utf-8", "surrogateescape")
        entry = _with_marks(repository, base, ours, theirs, names)
        if entry is None:
            entry = ours or theirs
            kept.append(raw)
        conflicts.append(raw)
        del index.conflicts[path]
        if entry is not None:
            index.add(IndexEntry(path, entry.id, entry.mode))
    return Merged(index.write_tree(repository), sorted(conflicts), sorted(kept))


def _with_marks(
    repository: pygit2.Repository, base: IndexEntry | None, ours: IndexEntry | None, theirs: IndexEntry | None,
    names: Sequence[str],
) -> IndexEntry | None:
    """The file with both versions in it; None when there are no two texts to show."""
    if ours is None or theirs is None or ours.path != theirs.path:
        return None
    if any(b"\0" in _data(repository, side)[:8192] for side in (ours, theirs)):
        return None
    try:
        found = repository.merge_file_from_index(base, ours, theirs)
    except GIT_ERRORS:
        return None  # not UTF-8, or no file
    if isinstance(found, str) or not marked(found.contents.encode()):
        return None
    text = _renamed(found.contents, str(ours.path), names)
    return IndexEntry(ours.path, repository.create_blob(text.encode()), ours.mode)


def _renamed(text: str, path: str, names: Sequence[str]) -> str:
    """libgit2 writes the path behind both marks, which says nothing."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        for mark, name in (("<<<<<<< ", names[0]), (">>>>>>> ", names[1])):
            if line.rstrip("\r") == mark + path:
                lines[number] = mark + name
    return "\n".join(lines)


def _data(repository: pygit2.Repository, entry: IndexEntry) -> bytes:
    found = repository.get(entry.id)
    return found.data if isinstance(found, pygit2.Blob) else b"\0"
