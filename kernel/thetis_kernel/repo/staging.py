"""From files in a worktree to entries of its index: what may be recorded, and what is left with a reason.

Owns the reading of content (through `beneath`) and the modes; must not know branches or commits.
"""

from __future__ import annotations

import os
from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, FileMode

from thetis_kernel.protocol.git import Skipped
from thetis_kernel.repo import beneath
from thetis_kernel.repo.attributes import Attributes
from thetis_kernel.repo.blobs import Blobs
from thetis_kernel.repo.changes import Change
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.library import GIT_ERRORS, common_directory, raw
from thetis_kernel.repo.links import InnerRepositories
from thetis_kernel.repo.peculiarities import setting
from thetis_kernel.repo.shown import shown

MAX_FILE = 100 * 1024 * 1024
"""Bytes of a file that is recorded; the limit of the common hosts, above which a branch cannot be pushed."""


class Stager:
    """Stages changes of one opened worktree. `skipped`, `notes` and `gitlinks` grow as it works; `staged` counts.

    A path that cannot be recorded is skipped and said; what fails for the repository as a whole raises GIT_ERRORS.
    """

    def __init__(
        self, repository: pygit2.Repository, attributes: Attributes, top: int, gitlinks: list[bytes],
        job: Job,
    ) -> None:  # fmt: skip
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self.staged = 0
        self.gitlinks = gitlinks
        self._repository = repository
        self._index = repository.index
        self._attributes = attributes
        self._blobs = Blobs(repository, 0)
        self._top = top
        self._job = job
        where = Path(os.path.realpath(repository.workdir))
        self._inner = InnerRepositories(self._index, top, where, common_directory(repository))
        self._modes_count = setting(repository, "core.fileMode", default=True)
        self._links_count = setting(repository, "core.symlinks", default=True)

    def stage(self, changes: list[Change]) -> None:
        """Stage all of `changes`: what is gone first, so that a file may stand where a directory was. To be called
        once; the content is durable when it returns, the index is not written."""
        self._blobs = Blobs(self._repository, len(changes))
        gone = [change for change in changes if change.status == DeltaStatus.DELETED]
        rest = [change for change in changes if change.status != DeltaStatus.DELETED]
        for change in (*gone, *rest):
            self._job.check()
            self._stage(change)
        self._blobs.sync()
        self.gitlinks = self._inner.review(self.gitlinks)
        self.skipped += self._inner.skipped
        self.notes += self._inner.notes

    def _stage(self, change: Change) -> None:
        path = change.path.rstrip(b"/")
        if change.path.endswith(b"/"):
            if self._inner.add(path):
                self.gitlinks = [*self.gitlinks, path]
                self.staged += 1
            return
        try:
            entry = beneath.read(self._top, path, MAX_FILE)
        except OSError as error:
            self._skip(path, f"it cannot be read ({error.strerror})")
            return
        match entry.kind:
            case "missing":
                self._remove(path)
            case "file" | "link":
                reason = self._attributes.reason(path)
                if reason:
                    self._skip(path, reason)
                elif self._job.secret(entry.data):
                    self._skip(path, "it holds a secret of this machine")
                else:
                    self._add(path, entry, change.old_mode)
            case "directory":
                self._remove(path)  # its files are changes of their own
            case "special":
                self._skip(path, "it is a pipe, socket or device")
            case "large":
                self._skip(path, f"it is larger than {MAX_FILE // 1024 // 1024} MiB")

    def _add(self, path: bytes, entry: beneath.Entry, old_mode: int) -> None:
        mode, data = FileMode.LINK, entry.data
        if entry.kind == "file" and not (old_mode == FileMode.LINK and not self._links_count):
            try:
                data = self._attributes.cleaned(path, data)
            except GIT_ERRORS as error:
                self._skip(path, f"git refuses it ({str(error).rstrip('.')})")
                return
            executable = entry.executable if self._modes_count else old_mode == FileMode.BLOB_EXECUTABLE
            mode = FileMode.BLOB_EXECUTABLE if executable else FileMode.BLOB
        blob = self._blobs.write(data)  # a full disk ends the whole commit, not one file
        self._settle_conflict(path)
        try:
            self._index.add(pygit2.IndexEntry(raw(path), blob, mode))
        except GIT_ERRORS as error:
            self._skip(path, f"git refuses its name ({str(error).rstrip('.')})")
            return
        self.staged += 1

    def _remove(self, path: bytes) -> None:
        self._settle_conflict(path)
        if raw(path) in self._index:
            self._index.remove(raw(path))
            self.staged += 1

    def _settle_conflict(self, path: bytes) -> None:
        """A conflict of a merge ends with what stands in the file, its markers included; they are said."""
        conflicts = self._index.conflicts
        if conflicts is None:
            return
        try:
            del conflicts[raw(path)]
        except KeyError:
            return
        self.notes.append(f"{shown(path)} was in conflict; it is recorded as it stands.")

    def _skip(self, path: bytes, why: str) -> None:
        self.skipped.append(Skipped(shown(path), why))
