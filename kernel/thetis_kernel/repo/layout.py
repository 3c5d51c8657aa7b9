"""Names and places: a conversation's branch, its worktree's record inside the git directory.

Owns the shape of names and nothing else; must not know pygit2.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from thetis_kernel.errors import RepoError

BRANCH = re.compile(r"conv/[a-z0-9-]{1,40}")
"""What a branch of ours looks like (reliability S4: libgit2 would accept far more, bidirectional overrides included)."""
HEADS = "refs/heads/"


def check_branch(branch: str) -> str:
    """`branch` itself. Raises RepoError `bad-name` unless it is one of ours."""
    if not BRANCH.fullmatch(branch):
        raise RepoError(f"{branch!r} is not a conversation's branch.", kind="bad-name")
    return branch


def ref_name(branch: str) -> str:
    """The full name of a branch."""
    return HEADS + branch


def record_directory(common: Path, branch: str) -> Path:
    """Where git keeps the worktree of `branch`: `common` is the git directory all worktrees share."""
    return common / "worktrees" / check_branch(branch).replace("/", "-")


def check_worktree_path(worktree: str) -> Path:
    """The directory a worktree shall be in, its parent's symlinks resolved.

    Raises RepoError `bad-path` when it is not absolute, or not text that git's one-line files can hold.
    """
    path = Path(worktree)
    try:
        worktree.encode()
    except UnicodeEncodeError:
        raise RepoError("The worktree's path is not UTF-8.", kind="bad-path") from None
    if not path.is_absolute() or "\n" in worktree or "\0" in worktree or ".." in path.parts:
        raise RepoError(f"{worktree!r} cannot be a worktree's path.", kind="bad-path")
    return Path(os.path.realpath(path.parent)) / path.name
