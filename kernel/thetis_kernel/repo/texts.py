"""Two sets of text files merged over a third, in the objects of a repository and nowhere else."""

from __future__ import annotations

import pygit2
from pygit2 import IndexEntry
from pygit2.enums import FileMode

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.branches import MergedFiles
from thetis_kernel.repo.files import collect
from thetis_kernel.repo.inspection import locate
from thetis_kernel.repo.library import GIT_ERRORS, objects_of
from thetis_kernel.repo.merging import merge_trees
from thetis_kernel.repo.shown import shown


def merge_files(
    root: str, base: dict[str, str], ours: dict[str, str], theirs: dict[str, str], names: tuple[str, str]
) -> MergedFiles:
    """See `protocol.branches.MergeFiles`. Raises RepoError `bad-path` for a name git cannot hold."""
    with objects_of(locate(root)) as objects:
        merged = merge_trees(objects, _tree(objects, base), _tree(objects, ours), _tree(objects, theirs), names)
        found: dict[str, str] = {}
        collect(objects[merged.tree].peel(pygit2.Tree), "", found)
    return MergedFiles(found, [shown(path) for path in merged.conflicts], [shown(path) for path in merged.kept])


def _tree(objects: pygit2.Repository, files: dict[str, str]) -> pygit2.Tree:
    index = pygit2.Index()
    try:
        for path, text in files.items():
            index.add(IndexEntry(path, objects.create_blob(text.encode("utf-8", "replace")), FileMode.BLOB))
        return objects[index.write_tree(objects)].peel(pygit2.Tree)
    except GIT_ERRORS as error:
        raise RepoError(f"These files cannot be merged: {error}.", kind="bad-path") from error
