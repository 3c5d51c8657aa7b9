"""Repositories inside a worktree: submodules, and those an agent made. Their files are not ours to record.

An inner repository is the agent's: its configuration, index and refs may be anything, so it is not opened. Its commit
is read from two small files; only a submodule whose git directory lies in the root's own is looked into.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from thetis_kernel.protocol.git import Skipped
from thetis_kernel.repo import beneath
from thetis_kernel.repo.changes import index_changes
from thetis_kernel.repo.library import GIT_ERRORS, open_git_directory, raw
from thetis_kernel.repo.safety import unstuck
from thetis_kernel.repo.shown import count, shown

_HEX = re.compile(rb"[0-9a-f]{40}")
_REF = re.compile(rb"ref: (refs/[!-~]{1,200})")
_SMALL = 4096
_PACKED = 4 * 1024 * 1024


class InnerRepositories:
    """Those of the worktree at `where`, opened as `top`, to be recorded in `index`; `common` is the root's git
    directory. What could not be recorded is in `skipped`, what a person should know in `notes`."""

    def __init__(self, index: pygit2.Index, top: int, where: Path, common: Path) -> None:
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self._index = index
        self._top = top
        self._where = where
        self._common = common

    def add(self, path: bytes) -> bool:
        """Record which commit the new repository at `path` is at. Whether that could be done."""
        commit = self._commit_of(path)
        if commit is None:
            self._skip(path, "it is a git repository of its own without a commit that can be read")
            return False
        self._record(path, commit)
        self.notes.append(
            f"{shown(path)} is a git repository of its own: the branch records that it is at {str(commit)[:10]},"
            " its files are not part of it."
        )
        return True

    def review(self, gitlinks: list[bytes]) -> list[bytes]:
        """Bring those recorded at `gitlinks` up to date; the paths that still are."""
        return [path for path in gitlinks if self._review(path)]

    def _review(self, path: bytes) -> bool:
        try:
            entry = self._index[raw(path)]
        except KeyError:
            return False
        if entry.mode != FileMode.COMMIT:
            return False
        found = beneath.read(self._top, path, 0)
        if found.kind == "missing":
            self._index.remove(raw(path))
            return False
        if found.kind == "directory":
            self._look_into(path, entry.id)
        else:
            self._skip(path, "it stands in the place of a submodule")
        return True

    def _look_into(self, path: bytes, recorded: pygit2.Oid) -> None:
        try:
            names = os.listdir(self._where / os.fsdecode(path))
        except OSError:
            return
        if not names:
            return
        if ".git" not in names:
            self._skip(path, f"{count(len(names), 'name')} in the empty submodule cannot be recorded")
            return
        commit = self._commit_of(path)
        if commit is not None and commit != recorded:
            self._record(path, commit)
            self.notes.append(f"{shown(path)} is recorded at {str(commit)[:10]}; its files are not part of the branch.")
        changed = self._changed_inside(path)
        if changed:
            self._skip(path, f"{count(changed, 'changed file')} inside the submodule are for it to commit")

    def _record(self, path: bytes, commit: pygit2.Oid) -> None:
        self._index.add(pygit2.IndexEntry(raw(path), commit, FileMode.COMMIT))

    def _skip(self, path: bytes, why: str) -> None:
        self.skipped.append(Skipped(shown(path), why))

    # Reading an inner repository without opening it

    def _commit_of(self, path: bytes) -> pygit2.Oid | None:
        """The commit it has checked out, as its own files say; None when they do not."""
        if beneath.read(self._top, path + b"/.git", _SMALL).kind != "file":
            return _head(self._top, path + b"/.git/")
        directory = self._own_directory(path)
        if directory is None:
            return None
        with beneath.opened(directory) as below:
            return _head(below, b"")

    def _own_directory(self, path: bytes) -> Path | None:
        """The git directory `<path>/.git` names, if it lies in the root's, where agents cannot write."""
        told = beneath.read(self._top, path + b"/.git", _SMALL).data.strip()
        if not told.startswith(b"gitdir: "):
            return None
        directory = Path(os.path.realpath(self._where / os.fsdecode(path) / os.fsdecode(told[8:])))
        return directory if directory.is_relative_to(self._common) and directory.is_dir() else None

    def _changed_inside(self, path: bytes) -> int:
        """How many files a submodule of the root's own has changed; 0 for any other."""
        directory = self._own_directory(path)
        inside = self._where / os.fsdecode(path)
        if directory is None:
            return 0
        try:
            repository = open_git_directory(directory)
            if os.path.realpath(repository.workdir or "") != os.path.realpath(inside):
                return 0
            with unstuck(inside):
                return len(index_changes(repository))
        except GIT_ERRORS:
            return 0


def _head(top: int, prefix: bytes) -> pygit2.Oid | None:
    """HEAD of the git directory at `prefix`, followed one step through a loose or a packed ref."""
    head = _text(top, prefix + b"HEAD", _SMALL)
    named = _REF.fullmatch(head)
    if named is None:
        return _oid(head)
    direct = _oid(_text(top, prefix + named[1], _SMALL))
    if direct is not None:
        return direct
    packed = _text(top, prefix + b"packed-refs", _PACKED)
    return next((_oid(line[:40]) for line in packed.splitlines() if line[41:] == named[1]), None)


def _text(top: int, path: bytes, limit: int) -> bytes:
    try:
        return beneath.read(top, path, limit).data.strip()
    except OSError:
        return b""


def _oid(text: bytes) -> pygit2.Oid | None:
    return pygit2.Oid(hex=text.decode()) if _HEX.fullmatch(text) else None
