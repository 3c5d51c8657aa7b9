"""Small durable file operations the store shares: synced directories, whole-file replacement, synced copies.

A name is durable only after its directory is synced; every function here says what is durable when it returns.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path


def sync_dir(path: Path) -> None:
    """Make the names in directory `path` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def private_dir(path: Path) -> None:
    """Make `path` a directory only its owner can enter (0700), durably; parents are made as the umask says."""
    if not path.is_dir():
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_dir(path.parent)
    path.chmod(0o700)


def replace(path: Path, content: bytes) -> None:
    """Write `content` to `path` (0600) so that a crash leaves the old file or the new one, durably."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_new(temporary, content)
    temporary.replace(path)
    sync_dir(path.parent)


def write_new(path: Path, content: bytes) -> None:
    """Create `path` (0600) with `content` and sync the file, not yet its name. An unfinished file is removed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def copy_synced(source: Path, target: Path) -> None:
    """Copy a file to `target` (0600) and sync it, not yet its name."""
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as out, source.open("rb") as file:
        shutil.copyfileobj(file, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())
