"""Putting a worktree's `.git` file back, where the wall cannot keep it from being replaced.

Owns a snapshot of the small files named `.git` at the top of writable roots, and the comparison afterwards. A worktree
whose `.git` points to a repository an agent made would run that repository's configuration for whoever uses git
there next. bubblewrap mounts the file read-only; Landlock has no rule for a file inside a writable directory.

Everything goes through the directory's descriptor and never through a link: other commands may be at work in the
same directory while this runs.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

_MOST_BYTES = 8192  # "gitdir: " and a path
_ATTEMPTS = 5  # against a command that puts its own back each time
_NAME = ".git"


class GitFiles:
    """Taken before a command, put back after it."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        """`files`: paths named `.git`; directories among them are not kept (see `directories`)."""
        self._kept: dict[Path, bytes] = {}
        for path in files:
            content = _read_at(path.parent)
            if content is not None:
                self._kept[path] = content

    @staticmethod
    def directories(files: tuple[Path, ...]) -> list[Path]:
        """Those that are whole repositories, which nothing but a mount can protect."""
        return [path for path in files if path.is_dir() and not path.is_symlink()]

    def put_back(self) -> list[str]:
        """Restore what differs; returns a sentence for each.

        A directory found in its place stays beside it as `.git-replaced-...`.
        """
        notes = []
        for path, content in self._kept.items():
            if _read_at(path.parent) == content:
                continue
            try:
                _write_at(path.parent, content)
                notes.append(f"{path} was changed by the command and has been put back.")
            except OSError as error:
                notes.append(f"{path} was changed by the command and could not be put back: {error.strerror}.")
        return notes


def _read_at(directory: Path) -> bytes | None:
    """The content of the small regular file `.git`; None for anything else."""
    try:
        fd = os.open(directory / _NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, _MOST_BYTES + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    finally:
        os.close(fd)


def _write_at(directory: Path, content: bytes) -> None:
    top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fresh = f"{_NAME}-restored-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(fresh, flags, 0o644, dir_fd=top)
        try:
            os.write(fd, content)
        finally:
            os.close(fd)
        for attempt in range(_ATTEMPTS):
            try:
                os.rename(fresh, _NAME, src_dir_fd=top, dst_dir_fd=top)
                return
            except OSError:  # a directory is in the way
                if attempt == _ATTEMPTS - 1:
                    raise
                aside = f"{_NAME}-replaced-{secrets.token_hex(8)}"
                os.rename(_NAME, aside, src_dir_fd=top, dst_dir_fd=top)
    finally:
        os.close(top)
