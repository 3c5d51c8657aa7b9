"""Reading and writing below a directory while others change it: no step follows a symlink, nothing leads outside.

libgit2 opens by path, so a process in the worktree could swap a directory for a symlink between the look and the
read, and have a file of ours committed where it can read it (complaints 108, reliability 3.E). Content that goes
into commits is therefore read here. Must not know git.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple


class Entry(NamedTuple):
    """What stands at a path. `data`: a file's content or a link's target; b"" for the rest."""

    kind: Literal["missing", "file", "link", "directory", "special", "large"]
    executable: bool
    data: bytes


MISSING = Entry("missing", False, b"")


@contextmanager
def opened(top: Path) -> Iterator[int]:
    """A descriptor of the directory `top`, to be given to the functions below. Raises OSError."""
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read(top: int, path: bytes, limit: int) -> Entry:
    """What stands at `path` below the directory `top`; files over `limit` bytes are "large". Raises OSError when it
    cannot be read. A path through a symlink, or through a file, counts as missing: nothing of ours is there."""
    try:
        with _parent(top, path) as (parent, name):
            return _read(parent, name, limit)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING


def write(top: int, path: bytes, entry: Entry) -> None:
    """Make `path` the file or link `entry`, replacing whatever is in the way, directories included. Raises OSError."""
    parts = path.split(b"/")
    directory = os.dup(top)
    try:
        for part in parts[:-1]:
            deeper = _made(directory, part)
            os.close(directory)
            directory = deeper
        _clear(directory, parts[-1])
        if entry.kind == "link":
            os.symlink(entry.data, parts[-1], dir_fd=directory)
            return
        mode = 0o777 if entry.executable else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(parts[-1], flags, mode, dir_fd=directory), "wb") as file:
            file.write(entry.data)
    finally:
        os.close(directory)


def remove(top: int, path: bytes) -> None:
    """Remove `path` if it is there, and directories this leaves empty. Raises OSError."""
    with suppress(FileNotFoundError, NotADirectoryError):
        with _parent(top, path) as (parent, name):
            _clear(parent, name)
        head = path.rpartition(b"/")[0]
        while head:
            with _parent(top, head) as (parent, name):
                try:
                    os.rmdir(name, dir_fd=parent)
                except OSError:
                    return  # not empty
            head = head.rpartition(b"/")[0]


def remove_entry(top: int, path: bytes) -> None:
    """Remove the file or link `path` and nothing else; a directory there is left, and so are those around it. Raises OSError."""
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError), _parent(top, path) as (parent, name):
        os.unlink(name, dir_fd=parent)


def remove_directory(top: int, path: bytes) -> None:
    """Remove the directory `path` if it is empty. Raises OSError when it is not."""
    with suppress(FileNotFoundError, NotADirectoryError), _parent(top, path) as (parent, name):
        os.rmdir(name, dir_fd=parent)


def make_directory(top: int, path: bytes) -> None:
    """Make the directory `path`, and those above it, in the place of files of those names. Raises OSError."""
    directory = os.dup(top)
    try:
        for part in path.split(b"/"):
            deeper = _made(directory, part)
            os.close(directory)
            directory = deeper
    finally:
        os.close(directory)


@contextmanager
def _parent(top: int, path: bytes) -> Iterator[tuple[int, bytes]]:
    """The directory `path` stands in, and its last name."""
    parts = path.split(b"/")
    directory = os.dup(top)
    try:
        for part in parts[:-1]:
            deeper = _entered(directory, part)
            os.close(directory)
            directory = deeper
        yield directory, _plain(parts[-1])
    finally:
        os.close(directory)


def _entered(directory: int, part: bytes) -> int:
    """The directory `part` in `directory`. Raises NotADirectoryError for a symlink as for anything else that is none."""
    try:
        return os.open(_plain(part), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what some systems say of a symlink
            raise NotADirectoryError(errno.ENOTDIR, "a symlink", part) from error
        raise


def _made(directory: int, part: bytes) -> int:
    """The directory `part` in `directory`, made if need be, in the place of a file or link of that name."""
    try:
        return _entered(directory, part)
    except NotADirectoryError:
        os.unlink(_plain(part), dir_fd=directory)
    except FileNotFoundError:
        pass
    os.mkdir(part, dir_fd=directory)
    return _entered(directory, part)


def _read(parent: int, name: bytes, limit: int) -> Entry:
    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return Entry("link", False, os.readlink(name, dir_fd=parent))
    if stat.S_ISDIR(mode):
        return Entry("directory", False, b"")
    if not stat.S_ISREG(mode):
        return Entry("special", False, b"")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # not blocking: it may be a pipe by now
    with open(os.open(name, flags, dir_fd=parent), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return Entry("special", False, b"")
        executable = bool(found.st_mode & stat.S_IXUSR)
        data = file.read(limit + 1)
    return Entry("large", executable, b"") if len(data) > limit else Entry("file", executable, data)


def _clear(directory: int, name: bytes) -> None:
    """Remove `name` whatever it is; a directory with all that is in it."""
    try:
        os.unlink(_plain(name), dir_fd=directory)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):  # EISDIR on Linux, EPERM elsewhere
        shutil.rmtree(name, dir_fd=directory)


def _plain(part: bytes) -> bytes:
    """One name of a path. Raises OSError for those that lead elsewhere."""
    if part in (b"", b".", b".."):
        raise NotADirectoryError(f"{part!r} is no name")
    return part
