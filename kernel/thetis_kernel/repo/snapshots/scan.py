"""One look at everything in a worktree: names, kinds and times. Follows no link, leaves no descriptor open, reads no content.

Owns the rules of what is never in a snapshot: git's own files, what is kept from reading, pipes and sockets, and ignored
directories too large to keep (dependencies, build results: a person makes them again).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.snapshots.memory import Memory

MAX_FILES = 200_000
"""Of a worktree; beyond it a look takes seconds, and no snapshot is taken at all."""
MAX_FILE = 512 << 20
"""Bytes of a file that is kept: it is in memory while it is written."""
MAX_DEPTH = 200
IGNORED_FILES, IGNORED_BYTES = 2_000, 256 << 20
"""An ignored file or directory is kept up to this many files and bytes."""
GIT_NAMES = (b".git", b"git~1")
"""What git refuses in a tree, whatever the case: on some systems it would be read as the repository's own directory."""


class Stat(NamedTuple):
    """What lstat says of a file or link, as `memory.Seen` has it."""

    ctime: int
    mtime: int
    size: int
    inode: int
    link: bool
    executable: bool


class Found(NamedTuple):
    """A look's result. `left_out`: path -> why; directories that count for everything below them have no slash either.
    `ignored`: directories that are ignored and kept, to be measured again at the next look.
    """

    files: dict[bytes, Stat]
    directories: set[bytes]
    left_out: dict[bytes, str]
    ignored: set[bytes]


class Rules(NamedTuple):
    """`ignored(path)` as git says (a directory ends with "/"), `tracked(path)` in the index, `guarded(path)` by its name."""

    ignored: Callable[[bytes], bool]
    tracked: Callable[[bytes], bool]
    guarded: Callable[[bytes], bool]


def look(top: int, memory: Memory, rules: Rules, job: Job) -> Found:
    """Everything below the directory `top`. Raises RepoError `too-many`, and what `job.check` raises."""
    return _Look(memory, rules, job).run(top)


class _Look:
    def __init__(self, memory: Memory, rules: Rules, job: Job) -> None:
        self._memory = memory
        self._rules = rules
        self._job = job
        self._known = {path.rpartition(b"/")[0] for path in memory.files}
        self._found = Found({}, set(), {}, set())

    def run(self, top: int) -> Found:
        self._enter(top, b"", 0)
        return self._found

    def _enter(self, directory: int, prefix: bytes, depth: int) -> None:
        self._job.check()
        with os.scandir(directory) as entries:
            listed = [(os.fsencode(entry.name), entry) for entry in entries]
        for name, entry in listed:
            if not prefix and name == b".git":
                continue
            path = prefix + name
            if name.lower() in GIT_NAMES:
                self._found.left_out[path] = "it belongs to a repository of its own"
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(seen.st_mode):
                    self._directory(directory, path, name, depth)
                elif stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):
                    self._file(path, seen)
            except FileNotFoundError:
                continue  # gone since it was listed
            except NotADirectoryError:
                continue  # became something else; the next look sees it
            except PermissionError:
                self._found.left_out[path] = "it cannot be read"

    def _directory(self, parent: int, path: bytes, name: bytes, depth: int) -> None:
        why = self._memory.left_out.get(path, "")
        if not why and depth >= MAX_DEPTH:
            why = f"it is deeper than {MAX_DEPTH} directories"
        child = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            if not why and self._may_be_ignored(path) and self._rules.ignored(path + b"/"):
                why = self._too_much(child)
                if not why:
                    self._found.ignored.add(path)
            if why:
                self._found.left_out[path] = why
                self._memory.left_out[path] = why
                return
            self._found.directories.add(path)
            self._enter(child, path + b"/", depth + 1)
        finally:
            os.close(child)

    def _file(self, path: bytes, seen: os.stat_result) -> None:
        if len(self._found.files) >= MAX_FILES:
            raise RepoError(f"The worktree holds more than {MAX_FILES:,} files.", kind="too-many")
        known = path in self._memory.files  # its name was judged then
        if not known and self._rules.guarded(path):
            self._found.left_out[path] = "it is kept from reading"
        elif seen.st_size > MAX_FILE:
            self._found.left_out[path] = f"it is larger than {MAX_FILE >> 20} MiB"
        elif not known and seen.st_size > IGNORED_BYTES and self._is_ignored(path):
            self._found.left_out[path] = f"it is ignored and larger than {IGNORED_BYTES >> 20} MiB"
        else:
            self._found.files[path] = Stat(seen.st_ctime_ns, seen.st_mtime_ns, seen.st_size, seen.st_ino,
                                           stat.S_ISLNK(seen.st_mode), bool(seen.st_mode & stat.S_IXUSR))

    def _may_be_ignored(self, path: bytes) -> bool:
        """Whether git is asked: not about directories it was asked about before, but for those it ignored, which may grow."""
        return path in self._memory.ignored or path not in self._known

    def _is_ignored(self, path: bytes) -> bool:
        return self._rules.ignored(path) and not self._rules.tracked(path)

    def _too_much(self, directory: int) -> str:
        """Why an ignored directory is not kept; "" when it is small."""
        files = size = 0
        stack = [os.dup(directory)]
        try:
            while stack:
                here = stack.pop()
                try:
                    with os.scandir(here) as entries:
                        for entry in entries:
                            seen = entry.stat(follow_symlinks=False)
                            files, size = files + 1, size + seen.st_size
                            if files > IGNORED_FILES or size > IGNORED_BYTES:
                                return f"git ignores it, and it holds over {IGNORED_FILES} files or {IGNORED_BYTES >> 20} MiB"
                            if stat.S_ISDIR(seen.st_mode) and len(stack) < MAX_DEPTH:
                                stack.append(os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                                                     dir_fd=here))
                finally:
                    os.close(here)
        except OSError as error:
            return f"it cannot be read ({error.strerror})"
        finally:
            for rest in stack:
                os.close(rest)
        return ""
