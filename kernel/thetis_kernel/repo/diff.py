"""What a branch changed, as a bounded patch and a list of files.

Owns the bounds: a diff of anything answers within them. Bytes that are not UTF-8 are replaced; what a terminal may be
sent is the screen's to decide.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import DiffFind

from thetis_kernel.protocol.git import Changed, DiffText
from thetis_kernel.repo import beneath
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.changes import Change, tree_changes
from thetis_kernel.repo.inspection import find_git_directory, locate
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import GIT_ERRORS, commit_of, objects_of, open_git_directory
from thetis_kernel.repo.marker import read_marker
from thetis_kernel.repo.opening import not_materialised
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown

MAX_FILES = 1000
"""Files that are compared and named; of a larger diff the rest is only counted."""
MAX_COMPARED = 5 * 1024 * 1024
"""Bytes of a file above which it is not compared line by line."""
RENAMES = 200
"""Pairs of files compared for renames, which is done for commits only."""
_NOT_COMPARED = b"%s: too large to compare\n"


def diff(
    root: str, branch: str, *, base: str = "", trunk: str = "", uncommitted: bool = False, max_bytes: int = 256 * 1024
) -> DiffText:
    """What `branch` changed; see `protocol.git.Diff`.

    Raises RepoError: `unknown-commit`, `not-materialised`, `special-file`.
    """
    common = locate(root)
    record = record_directory(common, branch)
    if not uncommitted:
        repository = open_git_directory(find_git_directory(root))
        tip = commit_of(repository, branch)
        begin = begin_of(repository, record, tip, base=base, trunk=trunk)
        with objects_of(common) as objects:
            found = commit_of(objects, str(begin.id)).tree.diff_to_tree(commit_of(objects, str(tip.id)).tree)
            return _committed(objects, found, max_bytes)
    marker = read_marker(record)
    if marker is None or marker.state != "ready" or not Path(marker.worktree).is_dir():
        raise not_materialised(branch)
    repository = open_git_directory(record)
    begin = begin_of(repository, record, commit_of(repository, branch), base=base, trunk=trunk)
    return _pending(repository, Attributes(repository, record, marker.base), begin.tree, max_bytes)


def begin_of(
    repository: pygit2.Repository, record: Path, tip: pygit2.Commit, *, base: str = "", trunk: str = ""
) -> pygit2.Commit:
    """The commit a branch is compared with: `base`, or where it left `trunk`, or where its marker says it began, or
    where it left what is checked out in the root."""
    if base:
        return commit_of(repository, base)
    marker = read_marker(record)
    if not trunk and marker is not None and marker.base:
        return commit_of(repository, marker.base)
    try:
        other = commit_of(repository, trunk) if trunk else repository.head.peel(pygit2.Commit)
        fork = repository.merge_base(tip.id, other.id)
    except GIT_ERRORS:
        fork = None  # nothing is checked out in the root
    return tip if fork is None else commit_of(repository, str(fork))


class _Answer:
    """Files and patch as they come, within the bounds."""

    def __init__(self, max_bytes: int) -> None:
        self.total = 0
        self._max_bytes = max_bytes
        self._files: list[Changed] = []
        self._pieces: list[bytes] = []
        self._size = 0

    def wants(self) -> bool:
        """Count one more file; whether it is still to be compared."""
        self.total += 1
        return self.total <= MAX_FILES

    def add(self, file: Changed, patch: bytes) -> None:
        self._files.append(file)
        self._pieces.append(patch[: max(0, self._max_bytes - self._size)])
        self._size += len(patch)

    def finished(self) -> DiffText:
        return DiffText(
            patch=b"".join(self._pieces).decode("utf-8", "replace"),
            truncated=self._size > self._max_bytes or self.total > MAX_FILES,
            files=self._files,
            total=self.total,
            added=sum(file.added for file in self._files),
            removed=sum(file.removed for file in self._files),
        )


def _committed(objects: pygit2.Repository, found: pygit2.Diff, max_bytes: int) -> DiffText:
    if len(found) <= MAX_FILES:
        found.find_similar(DiffFind.FIND_RENAMES, rename_limit=RENAMES)
    answer = _Answer(max_bytes)
    for number, delta in enumerate(found.deltas):
        if not answer.wants():
            continue
        old, new = delta.old_file.raw_path, delta.new_file.raw_path
        status = delta.status_char()
        patch = None if max(_size(objects, delta.old_file), _size(objects, delta.new_file)) > MAX_COMPARED else found[number]
        answer.add(
            Changed(
                path=shown(old if status == "D" else new), status=status, **_counts(patch),
                old_path=shown(old) if status == "R" else "",
            ),
            _NOT_COMPARED % new if patch is None else patch.data,
        )  # fmt: skip
    return answer.finished()


def _pending(repository: pygit2.Repository, attributes: Attributes, tree: pygit2.Tree, max_bytes: int) -> DiffText:
    """What stands in the worktree against `tree`. Each patch is made of two byte strings: libgit2's own patches of
    working files look up attributes and open files by path, while nothing can stop them."""
    answer = _Answer(max_bytes)
    worktree = Path(repository.workdir)
    with unstuck(worktree) as beat, beneath.opened(worktree) as top:
        for change in tree_changes(repository, tree):
            beat()
            if not answer.wants() or change.path.endswith(b"/"):
                continue
            old = _content(repository, change)
            try:
                entry = beneath.read(top, change.path, MAX_COMPARED)
                new = entry.data if entry.kind == "link" else attributes.cleaned(change.path, entry.data)
            except GIT_ERRORS:
                continue  # it cannot be read, or core.safecrlf objects; the commit will say so
            there = entry.kind in ("file", "link")
            status = "D" if not there else "A" if change.old_id is None else "M"
            name = shown(change.path)
            patch = (
                None if old is None or entry.kind == "large"
                else pygit2.Patch.create_from(old if change.old_id else None, new if there else None, name, name)
            )  # fmt: skip
            answer.add(
                Changed(path=name, status=status, **_counts(patch)),
                _NOT_COMPARED % change.path if patch is None else patch.data,
            )
    return answer.finished()


def _content(repository: pygit2.Repository, change: Change) -> bytes | None:
    """What git has of a path; b"" for nothing, None when that is too large to compare or no file."""
    if change.old_id is None:
        return b""
    if repository.odb.read_header(change.old_id)[1] > MAX_COMPARED:
        return None
    found = repository[change.old_id]
    return found.data if isinstance(found, pygit2.Blob) else None


def _counts(patch: pygit2.Patch | None) -> dict[str, Any]:
    if patch is None:
        return {"binary": True}
    _, added, removed = patch.line_stats
    return {"added": added, "removed": removed, "binary": bool(patch.delta.is_binary)}


def _size(repository: pygit2.Repository, file: pygit2.DiffFile) -> int:
    """Bytes of one side; of a blob, as its header says, since a diff of trees does not know."""
    if file.size:
        return file.size
    try:
        return repository.odb.read_header(file.id)[1]
    except GIT_ERRORS:
        return 0  # nothing on that side, or a submodule
