"""Text files of a commit, without a checkout."""

from __future__ import annotations

import pygit2
from pygit2.enums import FileMode

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.inspection import find_git_directory
from thetis_kernel.repo.library import commit_of, open_git_directory

MAX_FILES = 400
MAX_BYTES = 4 * 1024 * 1024
_PLAIN = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)


def read_files(root: str, commit: str, directory: str) -> dict[str, str]:
    """See `protocol.git.ReadFiles`. Raises RepoError `unknown-commit`, `too-large`."""
    repository = open_git_directory(find_git_directory(root))
    tree: pygit2.Object = commit_of(repository, commit).tree
    for part in directory.strip("/").split("/"):
        if not isinstance(tree, pygit2.Tree) or part not in tree:
            return {}
        tree = tree / part
    found: dict[str, str] = {}
    if isinstance(tree, pygit2.Tree):
        collect(tree, "", found)
    return found


def collect(tree: pygit2.Tree, prefix: str, found: dict[str, str]) -> None:
    """Put the text files of `tree` into `found`, by path. Raises RepoError `too-large`."""
    _collect(tree, prefix, found, [MAX_BYTES])


def _collect(tree: pygit2.Tree, prefix: str, found: dict[str, str], room: list[int]) -> None:
    for entry in tree:
        if isinstance(entry, pygit2.Tree):
            _collect(entry, f"{prefix}{entry.name}/", found, room)
        elif isinstance(entry, pygit2.Blob) and entry.filemode in _PLAIN:
            room[0] -= entry.size
            if len(found) >= MAX_FILES or room[0] < 0:
                raise RepoError(f"There is more than {MAX_FILES} files or {MAX_BYTES} bytes there.", kind="too-large")
            try:
                found[f"{prefix}{entry.name}"] = entry.data.decode("utf-8")
            except UnicodeDecodeError:
                continue  # no text: not asked for
