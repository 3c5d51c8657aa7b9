"""What a branch changed, as a bounded patch and a list of files.

Owns the bounds: a diff of anything answers within them. Bytes that are not UTF-8 are replaced; what a terminal may be
sent is the screen's to decide.
"""

from __future__ import annotations

from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from thetis_kernel.protocol.git import Changed, DiffText
from thetis_kernel.repo.changes import COMPARED
from thetis_kernel.repo.commit import not_materialised
from thetis_kernel.repo.inspection import find_git_directory, locate
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import GIT_ERRORS, commit_of, open_git_directory
from thetis_kernel.repo.marker import read_marker
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import shown

MAX_FILES = 1000
"""Files that are compared and named; of a larger diff the rest is only counted."""
MAX_COMPARED = 5 * 1024 * 1024
"""Bytes of a file above which it is not compared line by line."""
RENAMES = 200
"""Pairs of files compared for renames."""


def diff(
    root: str, branch: str, *, base: str = "", trunk: str = "", uncommitted: bool = False, max_bytes: int = 256 * 1024
) -> DiffText:
    """What `branch` changed; see `protocol.git.Diff`.

    Raises RepoError: `unknown-commit`, `not-materialised`, `special-file`.
    """
    record = record_directory(locate(root), branch)
    if not uncommitted:
        repository = open_git_directory(find_git_directory(root))
        tip = commit_of(repository, branch)
        begin = begin_of(repository, record, tip, base=base, trunk=trunk)
        return _bounded(repository, begin.tree.diff_to_tree(tip.tree), max_bytes)
    marker = read_marker(record)
    if marker is None or marker.state != "ready" or not Path(marker.worktree).is_dir():
        raise not_materialised(branch)
    repository = open_git_directory(record)
    begin = begin_of(repository, record, commit_of(repository, branch), base=base, trunk=trunk)
    with unstuck(Path(marker.worktree)):
        flags = COMPARED | DiffOption.SHOW_UNTRACKED_CONTENT  # of both, else the merge drops untracked files
        found = repository.index.diff_to_tree(begin.tree, flags=flags)
        found.merge(repository.index.diff_to_workdir(flags=flags))
        return _bounded(repository, found, max_bytes)


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


def _bounded(repository: pygit2.Repository, found: pygit2.Diff, max_bytes: int) -> DiffText:
    if len(found) <= MAX_FILES:
        found.find_similar(DiffFind.FIND_RENAMES | DiffFind.FIND_FOR_UNTRACKED, rename_limit=RENAMES)
    files: list[Changed] = []
    pieces: list[bytes] = []
    size = total = added = removed = 0
    for number, delta in enumerate(found.deltas):
        total += 1
        if total > MAX_FILES:
            continue
        patch = None if _is_large(repository, delta) else found[number]
        _, plus, minus = patch.line_stats if patch is not None else (0, 0, 0)
        added, removed = added + plus, removed + minus
        files.append(_changed(delta, plus, minus, binary=patch is None or bool(patch.delta.is_binary)))
        text = patch.data if patch is not None else b"%s: too large to compare\n" % delta.new_file.raw_path
        pieces.append(text[: max(0, max_bytes - size)])
        size += len(text)
    return DiffText(
        patch=b"".join(pieces).decode("utf-8", "replace"),
        truncated=size > max_bytes or total > MAX_FILES,
        files=files,
        total=total,
        added=added,
        removed=removed,
    )


def _is_large(repository: pygit2.Repository, delta: pygit2.DiffDelta) -> bool:
    return max(_size(repository, delta.old_file), _size(repository, delta.new_file)) > MAX_COMPARED


def _size(repository: pygit2.Repository, file: pygit2.DiffFile) -> int:
    """Bytes of one side; of a blob, as its header says, since a diff of trees does not know."""
    if file.size:
        return file.size
    try:
        return repository.odb.read_header(file.id)[1]
    except GIT_ERRORS:
        return 0  # nothing on that side, or a submodule


def _changed(delta: pygit2.DiffDelta, added: int, removed: int, *, binary: bool) -> Changed:
    deleted = delta.status == DeltaStatus.DELETED
    status = "A" if delta.status == DeltaStatus.UNTRACKED else delta.status_char()
    path, old = delta.new_file.raw_path, delta.old_file.raw_path
    return Changed(
        path=shown(old if deleted else path), status=status, added=added, removed=removed, binary=binary,
        old_path=shown(old) if delta.status == DeltaStatus.RENAMED else "",
    )  # fmt: skip
