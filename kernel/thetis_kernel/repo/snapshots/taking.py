"""From a look at a worktree to a commit that holds all of it; the chain of such commits, and finding one again.

Owns the order that makes a kill harmless: content, trees, commit, ref. Nothing refers to what is not durable, and the
person's own refs, index and files are never touched.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode, ObjectType

from thetis_kernel.crash import point
from thetis_kernel.protocol.git import Skipped
from thetis_kernel.protocol.snapshots import Snapshot
from thetis_kernel.repo import beneath
from thetis_kernel.repo.blobs import Blobs
from thetis_kernel.repo.identity import FALLBACK_EMAIL, FALLBACK_NAME
from thetis_kernel.repo.inspection import locate
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import check_branch, record_directory
from thetis_kernel.repo.library import GIT_ERRORS, common_directory, objects_of, raw
from thetis_kernel.repo.locks import locked
from thetis_kernel.repo.opening import Opened, not_materialised, open_worktree
from thetis_kernel.repo.shown import shown
from thetis_kernel.repo.snapshots import memory
from thetis_kernel.repo.snapshots.scan import MAX_FILE, Found, Rules, Stat, look
from thetis_kernel.repo.snapshots.seeding import seeded

CHAIN = "refs/thetis/snapshots/"
MAX_LISTED = 50
"""Paths an answer names of those left out."""
_STILL_NS = 50_000_000
"""A file that changed less than this before a look is read again at the next one: the clock of file systems is coarse."""


class Kept(NamedTuple):
    """A worktree's files in the database. `left_out`: path -> why."""

    tree: pygit2.Oid
    files: int
    left_out: dict[bytes, str]


def take(root: str, branch: str, session: str, seq: int, job: Job) -> Snapshot:
    """See `protocol.snapshots.TakeSnapshot`."""
    record = record_directory(locate(root), branch)
    try:
        with locked(record, job):
            opened = open_worktree(record, branch)
            kept = keep(opened, job)
            return chained(opened, kept, session, seq)
    except FileNotFoundError as error:
        raise not_materialised(branch) from error


def find(root: str, branch: str, session: str, seq: int, ts_ms: int) -> str:
    """See `protocol.snapshots.FindSnapshot`."""
    found = ""
    with objects_of(locate(root)) as repository:
        for commit in chain(repository, branch):
            whose, at, taken = _label(commit)
            if (at < seq) if whose == session else (taken < ts_ms):
                break
            found = str(commit.id)
    return found


def drop(root: str, branch: str) -> None:
    """See `protocol.snapshots.DropSnapshots`."""
    with objects_of(locate(root)) as repository:
        name = CHAIN + check_branch(branch).removeprefix("conv/")
        if name in repository.references:
            repository.references.delete(name)


def chain(repository: pygit2.Repository, branch: str) -> Iterator[pygit2.Commit]:
    """The snapshots of `branch`, newest first."""
    commit = _newest(repository, branch)
    while commit is not None:
        yield commit
        commit = commit.parents[0] if commit.parents else None


def keep(opened: Opened, job: Job) -> Kept:
    """The files of an opened worktree, whose lock the caller holds, as a tree in the database; durable on return."""
    repository, record, marker = opened
    known = memory.load(record)
    if not known.files and not _converts(repository):
        known = seeded(record / "index")
    started = time.time_ns()
    with beneath.opened(Path(marker.worktree)) as top:
        found = look(top, known, _rules(repository, job), job)
        writer = _Writer(repository, top, found, known, job)
        writer.read_changed()
        tree = writer.write_trees()
    calm = {path: seen for path, seen in writer.seen.items() if seen.ctime < started - _STILL_NS}
    memory.save(record, memory.Memory(files=calm, trees=writer.trees, left_out=known.left_out,
                                      ignored=found.ignored))
    return Kept(tree, len(writer.seen), {**found.left_out, **writer.left_out})


def chained(opened: Opened, kept: Kept, session: str, seq: int) -> Snapshot:
    """The newest snapshot of the opened worktree if it holds exactly `kept`, else a new one after it."""
    repository, _, marker = opened
    told = [Skipped(shown(path), why) for path, why in list(kept.left_out.items())[:MAX_LISTED]]
    newest = _newest(repository, marker.branch)
    if newest is not None and newest.tree_id == kept.tree and _label(newest)[:2] == (session, seq):
        return Snapshot(str(newest.id), False, kept.files, told)
    if newest is not None and newest.tree_id == kept.tree:
        return _labelled(opened, newest, kept, told, session, seq)
    return _append(opened, kept, [newest.id] if newest is not None else [], told, session, seq, new=True)


def _labelled(opened: Opened, newest: pygit2.Commit, kept: Kept, told: list[Skipped], session: str, seq: int) -> Snapshot:
    """The same files at a later point: the newest snapshot is told anew, so that the chain grows with changes alone.

    It stands for every point between its first label and its last, because nothing changed in between.
    """
    return _append(opened, kept, list(newest.parent_ids), told, session, seq, new=False)


def _append(opened: Opened, kept: Kept, parents: list[pygit2.Oid], told: list[Skipped], session: str, seq: int, *,
            new: bool) -> Snapshot:
    repository, _, marker = opened
    taken = time.time_ns() // 1_000_000
    by = pygit2.Signature(FALLBACK_NAME, FALLBACK_EMAIL, taken // 1000, 0)
    message = f"Files before event {seq} of {session}\n\nThetis-Session: {session}\nThetis-Seq: {seq}\nThetis-Taken: {taken}\n"
    commit = repository.create_commit(None, by, by, message, kept.tree, parents)
    point("snapshot.before-ref")
    repository.references.create(CHAIN + marker.branch.removeprefix("conv/"), commit, force=True)
    point("snapshot.after-ref")
    return Snapshot(str(commit), new, kept.files, told)


def _newest(repository: pygit2.Repository, branch: str) -> pygit2.Commit | None:
    try:
        return repository.references[CHAIN + check_branch(branch).removeprefix("conv/")].peel(pygit2.Commit)
    except KeyError:
        return None


def _label(commit: pygit2.Commit) -> tuple[str, int, int]:
    """(session, seq, milliseconds) of a snapshot; ("", 0, 0) for a commit that is none."""
    told = dict(line.split(": ", 1) for line in commit.message.splitlines() if line.startswith("Thetis-") and ": " in line)
    try:
        return told["Thetis-Session"], int(told["Thetis-Seq"]), int(told["Thetis-Taken"])
    except (KeyError, ValueError):
        return "", 0, 0


def _rules(repository: pygit2.Repository, job: Job) -> Rules:
    def ignored(path: bytes) -> bool:
        try:
            return bool(repository.path_is_ignored(path.decode("utf-8", "surrogateescape")))
        except GIT_ERRORS:  # not UTF-8: no pattern is asked about it
            return False

    index = repository.index
    return Rules(ignored, lambda path: raw(path) in index, lambda path: job.guarded(os.fsdecode(path)))


def _converts(repository: pygit2.Repository) -> bool:
    """Whether content may differ between checkout and database without a file in the checkout saying so (gitattributes(5))."""
    def told(name: str) -> str:
        try:
            return str(repository.config[name]).lower()
        except GIT_ERRORS:
            return ""

    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "git" / "attributes"
    return told("core.autocrlf") not in ("", "false") or told("core.attributesfile") != "" or home.exists() \
        or (common_directory(repository) / "info" / "attributes").exists()


class _Writer:
    """Content and trees of one look. `seen`: every file it kept; `trees`: every tree; `left_out`: what reading found."""

    def __init__(self, repository: pygit2.Repository, top: int, found: Found, known: memory.Memory, job: Job) -> None:
        self.seen: dict[bytes, memory.Seen] = {}
        self.trees: set[bytes] = set()
        self.left_out: dict[bytes, str] = {}
        self._repository = repository
        self._top = top
        self._found = found
        self._known = known
        self._job = job

    def read_changed(self) -> None:
        """Bring the content of what is new or changed into the database."""
        changed: list[tuple[bytes, Stat]] = []
        for path, stat in self._found.files.items():
            before = self._known.files.get(path)
            if before is not None and before[:4] == stat[:4] and before.mode == _mode(stat):
                self.seen[path] = before
            else:
                changed.append((path, stat))
        blobs = Blobs(self._repository, len(changed))
        for path, stat in changed:
            self._job.check()
            try:
                entry = beneath.read(self._top, path, MAX_FILE)
            except OSError as error:
                self.left_out[path] = f"it cannot be read ({error.strerror})"
                continue
            if entry.kind not in ("file", "link"):
                continue  # it became something else since the look
            if entry.kind == "file" and self._job.secret(entry.data):
                self.left_out[path] = "it holds a secret of this machine"
                continue
            mode = FileMode.LINK if entry.kind == "link" else _file_mode(entry.executable)
            self.seen[path] = memory.Seen(*stat[:4], int(mode), blobs.write(entry.data).raw)
        blobs.sync()

    def write_trees(self) -> pygit2.Oid:
        """The tree of everything `seen`, empty directories included; durable."""
        below: defaultdict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
        for path, seen in self.seen.items():
            head, _, name = path.rpartition(b"/")
            below[head].append((name, b"%o %b\0%b" % (seen.mode, name, seen.blob)))
        needed: list[bytes] = []
        for directory in sorted(self._found.directories, key=lambda path: path.count(b"/"), reverse=True):
            head, _, name = directory.rpartition(b"/")
            identity = self._tree(below.pop(directory, []), needed)
            below[head].append((name + b"/", b"40000 %b\0%b" % (name, identity)))  # git orders directories as if with "/"
        top = self._tree(below.pop(b"", []), needed)
        blobs = Blobs(self._repository, len(needed))
        for content in needed:
            blobs.write(content, ObjectType.TREE)
        blobs.sync()
        return pygit2.Oid(raw=top)

    def _tree(self, entries: list[tuple[bytes, bytes]], needed: list[bytes]) -> bytes:
        content = b"".join(entry for _, entry in sorted(entries))
        identity = hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).digest()
        if identity not in self.trees:
            self.trees.add(identity)
            if identity not in self._known.trees or pygit2.Oid(raw=identity) not in self._repository.odb:
                needed.append(content)
        return identity


def _mode(stat: Stat) -> int:
    return int(FileMode.LINK if stat.link else _file_mode(stat.executable))


def _file_mode(executable: bool) -> FileMode:
    return FileMode.BLOB_EXECUTABLE if executable else FileMode.BLOB


