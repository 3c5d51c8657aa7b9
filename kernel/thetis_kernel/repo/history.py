"""Where a conversation's branch stands and which commits are on it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, SortMode

from thetis_kernel.protocol.git import BranchInfo, Commit, History
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.branching import unresolved
from thetis_kernel.repo.changes import worktree_dirt
from thetis_kernel.repo.diff import begin_of
from thetis_kernel.repo.inspection import find_git_directory, locate
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import GIT_ERRORS, commit_of, open_git_directory
from thetis_kernel.repo.marker import read_marker
from thetis_kernel.repo.shown import shown

MAX_LOG = 1000
MAX_BODY = 4096
"""Characters of a message's body."""
MAX_LOOKED_UP = 1000
"""Changed paths whose attributes are looked at."""


def branch_status(root: str, branch: str, trunk: str) -> BranchInfo:
    """How `branch` relates to `trunk` ("" = what is checked out in the root). Raises RepoError `unknown-commit`."""
    repository = open_git_directory(find_git_directory(root))
    record = record_directory(locate(root), branch)
    tip = commit_of(repository, branch)
    name, other = _trunk(repository, trunk)
    begin = begin_of(repository, record, tip)
    ahead, behind = repository.ahead_behind(tip.id, other.id) if other is not None else (0, 0)
    deltas = list(begin.tree.diff_to_tree(tip.tree).deltas)
    marker = read_marker(record)
    there = marker is not None and marker.state == "ready" and Path(marker.worktree).is_dir()
    worktree = open_git_directory(record) if there else None
    attributes = Attributes(worktree, record, str(begin.id)) if worktree is not None else Attributes(repository)
    return BranchInfo(
        branch=branch,
        tip=str(tip.id),
        base=str(begin.id),
        trunk=name,
        ahead=ahead,
        behind=behind,
        changed=len(deltas),
        dirty=worktree_dirt(worktree) if worktree is not None else 0,
        worktree=marker.worktree if there and marker is not None else "",
        filtered=_filtered(attributes, deltas[:MAX_LOOKED_UP]),
        merging=marker.merging if there and marker is not None else "",
        unresolved=unresolved(marker) if there and marker is not None else [],
    )


def log(root: str, branch: str, limit: int, since: str) -> History:
    """The commits of `branch`, newest first, without those `since` reaches. Raises RepoError `unknown-commit`."""
    repository = open_git_directory(find_git_directory(root))
    tip = commit_of(repository, branch)
    walker = repository.walk(tip.id, SortMode.TOPOLOGICAL | SortMode.TIME)
    if since:
        walker.hide(commit_of(repository, since).id)
    limit = min(max(limit, 1), MAX_LOG)
    found = list(itertools.islice(walker, limit + 1))
    return History([_described(commit) for commit in found[:limit]], more=len(found) > limit)


def _trunk(repository: pygit2.Repository, trunk: str) -> tuple[str, pygit2.Commit | None]:
    if trunk:
        return trunk, commit_of(repository, trunk)
    try:
        head = repository.head
        return ("" if repository.head_is_detached else head.shorthand), head.peel(pygit2.Commit)
    except GIT_ERRORS:
        return "", None


def _filtered(attributes: Attributes, deltas: list[pygit2.DiffDelta]) -> list[str]:
    """Changed paths a filter owns: their content was not made by the filter, so it must not reach the trunk."""
    paths = [delta.new_file.raw_path for delta in deltas if delta.status != DeltaStatus.DELETED]
    return [shown(path) for path in paths if attributes.reason(path)]


def _described(commit: pygit2.Commit) -> Commit:
    subject, _, body = commit.raw_message.decode("utf-8", "replace").strip().partition("\n")
    return Commit(
        id=str(commit.id),
        subject=subject,
        body=body.strip()[:MAX_BODY],
        author=f"{_text(commit.author.raw_name)} <{_text(commit.author.raw_email)}>",
        time=commit.commit_time,
        parents=[str(parent) for parent in commit.parent_ids],
    )


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
