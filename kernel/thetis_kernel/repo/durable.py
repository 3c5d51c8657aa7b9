"""Files that survive a power cut: written beside, synced, renamed, directory synced.

Owns no format. libgit2 syncs its own files (`library` asks it to); this is for the few we write ourselves, and for
the working files of a checkout, which git never syncs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path


def write_file(path: Path, data: bytes) -> None:
    """Replace `path` by `data`; after a crash it holds the old content or the new one. Raises OSError."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    draft.rename(path)
    sync_directory(path.parent)


def fill_file(path: Path, data: bytes) -> None:
    """Write `path`, which nobody needs before, without a draft beside it: for directories whose every file counts.
    After a power cut it may be empty. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(path.parent)


def remove_file(path: Path) -> None:
    """Remove `path` if it is there, for good."""
    path.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in `path` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_filesystem(path: Path) -> None:
    """Everything written so far on the filesystem that holds `path`: one call for 50,000 files, where an fsync each
    takes minutes. May take as long as the disk needs for what other programs wrote too; other threads run meanwhile."""
    if sys.platform != "linux":
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), f"cannot sync the filesystem of {path}")
    finally:
        os.close(descriptor)
