"""pygit2 as this kernel uses it: its global options, raw paths, and opening a repository where it lies.

Owns how libgit2 is set up; must not know what repositories are used for. Reading these facts of version 1.21 saves
surprises: calls through cffi (index, attributes, filters, checkout) let other threads run, calls in its C extension
(opening, status, tree diffs) hold the interpreter's lock throughout.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pygit2
from pygit2.enums import Option, RepositoryOpenFlag

from thetis_kernel.errors import RepoError

pygit2.option(Option.ENABLE_FSYNC_GITDIR, True)  # else no commit survives a power cut (reliability, finding 10)
pygit2.option(Option.SET_OWNER_VALIDATION, True)

GIT_ERRORS = (pygit2.GitError, OSError, KeyError, ValueError)
"""What pygit2 raises when libgit2 says no; which of them depends on libgit2's error class."""


LIBGIT2_ERRORS = (pygit2.GitError, OSError)
"""Those of GIT_ERRORS that no mistake of ours raises."""


class _RawPath(os.PathLike[bytes]):
    __slots__ = ("_path",)

    def __init__(self, path: bytes) -> None:
        self._path = path

    def __fspath__(self) -> bytes:
        return self._path


def raw(path: bytes) -> os.PathLike[str]:
    """A path of any bytes for pygit2's functions. They are typed for text, and text must be UTF-8 there, but what a
    PathLike yields they pass on as it is."""
    return cast("os.PathLike[str]", _RawPath(path))


def open_git_directory(path: Path, *, bare: bool = False) -> pygit2.Repository:
    """The repository whose git directory (or linked worktree's record) is exactly `path`; nothing is searched for. Of
    a conversation's worktree that is always the record, so no `.git` an agent put into it is ever followed. (Of a
    root it may be the top of the working tree.) `bare`: without its working tree. Raises GIT_ERRORS."""
    flags = RepositoryOpenFlag.NO_SEARCH | (RepositoryOpenFlag.BARE if bare else RepositoryOpenFlag(0))
    return pygit2.Repository(str(path), flags)


@contextmanager
def objects_of(common: Path) -> Iterator[pygit2.Repository]:
    """The objects and branches in the git directory `common`, without any index or working tree: comparing commits
    through it reads no attribute file that is not in git's own directory. Raises GIT_ERRORS."""
    with tempfile.TemporaryDirectory(prefix="thetis-git-") as place:
        Path(place, "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        Path(place, "commondir").write_bytes(os.fsencode(common) + b"\n")
        yield open_git_directory(Path(place), bare=True)


def common_directory(repository: pygit2.Repository) -> Path:
    """The git directory all worktrees of `repository` share."""
    return common_of(Path(repository.path))


def common_of(git_directory: Path) -> Path:
    """The shared git directory of the one at `git_directory` (gitrepository-layout(5), commondir)."""
    try:
        told = (git_directory / "commondir").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return Path(os.path.realpath(git_directory))
    return Path(os.path.realpath(git_directory / told))


def commit_of(repository: pygit2.Repository, name: str) -> pygit2.Commit:
    """The commit called `name`: 40 hex digits, or a local branch. No other expression is understood.

    Raises RepoError `unknown-commit`.
    """
    found: object = None
    try:
        if len(name) == 40:
            found = repository.get(name)
        else:
            found = repository.references["refs/heads/" + name].peel(pygit2.Commit)
    except GIT_ERRORS:
        pass  # said below
    if not isinstance(found, pygit2.Commit):
        raise RepoError(f"There is no commit or branch {name!r} in this repository.", kind="unknown-commit")
    return found
