"""A directory of a commit written out as plain files, under the name of its tree: what stands there never changes.

Links and submodules are refused, so that nothing of it leads elsewhere. Written beside and renamed, so that a directory
of that name is whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.inspection import find_git_directory
from thetis_kernel.repo.library import commit_of, open_git_directory

MAX_FILES = 2000
MAX_BYTES = 32 * 1024 * 1024
_PLAIN = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)


def tree_of(root: str, commit: str, directory: str) -> str:
    """The id of the tree at `directory` in a commit or branch, "" when there is none. Raises RepoError `unknown-commit`."""
    found = _tree(open_git_directory(find_git_directory(root)), commit, directory)
    return str(found.id) if found is not None else ""


def export(root: str, commit: str, directory: str, into: str) -> str:
    """Write `directory` of a commit to `into`/<tree id>/`directory`, unless it is there; the id.

    Raises RepoError `unknown-commit`, `not-plain` for links and submodules, `too-large`.
    """
    repository = open_git_directory(find_git_directory(root))
    tree = _tree(repository, commit, directory)
    if tree is None:
        raise RepoError(f"{commit[:40]} has no {directory}.", kind="unknown-commit")
    target = Path(into) / str(tree.id)
    if not target.is_dir():
        Path(into).mkdir(parents=True, exist_ok=True, mode=0o700)
        staged = Path(tempfile.mkdtemp(dir=into, prefix=".new-"))
        try:
            _write(tree, staged / directory, [MAX_FILES, MAX_BYTES])
            if not target.is_dir():
                os.rename(staged, target)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return str(tree.id)


def _tree(repository: pygit2.Repository, commit: str, directory: str) -> pygit2.Tree | None:
    found: pygit2.Object = commit_of(repository, commit).tree
    for part in directory.split("/"):
        if not isinstance(found, pygit2.Tree) or part not in found:
            return None
        found = found / part
    return found if isinstance(found, pygit2.Tree) else None


def _write(tree: pygit2.Tree, where: Path, room: list[int]) -> None:
    where.mkdir(parents=True)
    for entry in tree:
        name = entry.name or ""
        if isinstance(entry, pygit2.Tree) and name not in ("", ".", "..") and "/" not in name:
            _write(entry, where / name, room)
        elif isinstance(entry, pygit2.Blob) and entry.filemode in _PLAIN and name not in ("", ".", "..") and "/" not in name:
            room[0] -= 1
            room[1] -= entry.size
            if min(room) < 0:
                raise RepoError(f"There is more than {MAX_FILES} files or {MAX_BYTES} bytes there.", kind="too-large")
            (where / name).write_bytes(entry.data)
        else:
            raise RepoError(f"{where.name}/{name} is no plain file.", kind="not-plain", hint="Links and submodules cannot run.")
