"""What is odd about a usable root: features that change how conversations work there, each with its sentence.

Owns the wording of notices. Looks at configuration, the attribute files and the submodule list; the tree is walked
for a bounded time only, so on a huge repository a rare attribute file may go unmentioned (commits look again).
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pygit2

from thetis_kernel.protocol.git import Feature, Notice
from thetis_kernel.repo.library import GIT_ERRORS
from thetis_kernel.repo.marker import read_marker

BUDGET = 0.05
"""Seconds for looking through the tree for attribute files."""
MAX_ATTRIBUTES = 256 * 1024
_FILTER = re.compile(rb"^[^#\n]*\sfilter=(\S+)", re.MULTILINE)
_ENCODING = re.compile(rb"^[^#\n]*\sworking-tree-encoding=(\S+)", re.MULTILINE)

NOTICES: dict[Feature, tuple[str, str]] = {
    "detached": (
        "No branch is checked out here; conversations begin at the commit that is.",
        "Merging needs a branch: check one out.",
    ),
    "shallow": ("This is a shallow clone: history ends where it was cut.", ""),
    "sparse": (
        "This checkout is sparse; a conversation's worktree holds all files.",
        "Uncommitted files cannot be taken along.",
    ),
    "split-index": ("The index is kept in a form libgit2 cannot read, so uncommitted files cannot be counted.", ""),
    "linked-worktree": ("This is a linked worktree; branches are shared with the main checkout.", ""),
    "alternates": ("Objects are borrowed from another repository; it must stay where it is.", ""),
    "git-dir-elsewhere": ("The git directory of this checkout lies elsewhere.", ""),
    "submodules": ("Submodules are empty in a conversation's worktree, and changes inside them are not recorded.", ""),
    "lfs": (
        "Files kept by Git LFS are pointers in a conversation's worktree, and changes to them are not recorded.",
        "Change such files in the checkout.",
    ),
    "filters": (
        "Files with a filter (as git-crypt has) are encoded in a conversation's worktree, and changes to them are"
        " not recorded.",
        "Change such files in the checkout.",
    ),
    "working-tree-encoding": (
        "Files with a working-tree-encoding are UTF-8 in a conversation's worktree, and changes to them are not"
        " recorded.",
        "Change such files in the checkout.",
    ),
}  # fmt: skip


def peculiarities(
    repository: pygit2.Repository, top: Path, common: Path, head: pygit2.Commit, trunk: str
) -> tuple[list[Feature], list[Notice]]:
    """The features of an opened root, and a notice for each."""
    features = list(_features(repository, top, common, head))
    notices = [Notice(feature, *NOTICES[feature]) for feature in features]
    marker = read_marker(Path(repository.path))
    if marker is not None:
        notices.append(
            Notice("conversation-worktree", f"This is the worktree of the conversation {marker.branch} itself.",
                   "Start Thetis in the checkout it belongs to.")
        )  # fmt: skip
    return features, notices


def is_sparse(repository: pygit2.Repository) -> bool:
    """Whether files are left out of the checkout on purpose, so that their absence means nothing."""
    return setting(repository, "core.sparseCheckout")


def setting(repository: pygit2.Repository, name: str, default: bool = False) -> bool:
    """A boolean of the configuration; `default` when it is not set or makes no sense."""
    try:
        return repository.config.get_bool(name)
    except GIT_ERRORS:
        return default


def _features(repository: pygit2.Repository, top: Path, common: Path, head: pygit2.Commit) -> Iterator[Feature]:
    git_directory = Path(repository.path)
    if repository.head_is_detached:
        yield "detached"
    if repository.is_shallow:
        yield "shallow"
    if is_sparse(repository):
        yield "sparse"
    elif not _index_is_readable(repository):
        yield "split-index"
    if Path(os.path.realpath(git_directory)) != common:
        yield "linked-worktree"
    elif (top / ".git").is_file():
        yield "git-dir-elsewhere"
    if (common / "objects" / "info" / "alternates").is_file():
        yield "alternates"
    texts = list(_attribute_texts(repository, top, common, head))
    if (top / ".gitmodules").is_file() or ".gitmodules" in head.tree:
        yield "submodules"
    filters = {match for text in texts for match in _FILTER.findall(text)}
    if b"lfs" in filters:
        yield "lfs"
    if filters - {b"lfs"}:
        yield "filters"
    if any(_ENCODING.search(text) for text in texts):
        yield "working-tree-encoding"


def _index_is_readable(repository: pygit2.Repository) -> bool:
    if next(Path(repository.path).glob("sharedindex.*"), None) is None:
        return True  # not split; reading it would take as long as it is large
    try:
        return len(repository.index) >= 0
    except GIT_ERRORS:
        return False


def _attribute_texts(repository: pygit2.Repository, top: Path, common: Path, head: pygit2.Commit) -> Iterator[bytes]:
    for path in (top / ".gitattributes", common / "info" / "attributes"):
        if path.is_file():
            with open(path, "rb") as file:
                yield file.read(MAX_ATTRIBUTES)
    until = time.monotonic() + BUDGET
    waiting = deque([head.tree])
    while waiting and time.monotonic() < until:
        for entry in waiting.popleft():
            if isinstance(entry, pygit2.Tree):
                waiting.append(entry)
            elif entry.raw_name == b".gitattributes" and isinstance(entry, pygit2.Blob) and entry.size <= MAX_ATTRIBUTES:
                yield entry.data
