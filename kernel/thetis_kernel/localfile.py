"""Small files a person and several processes of Thetis edit: read whole, changed under a lock, replaced at once.

Two kernels of one person may write the same file in the same moment; each change is made to what the other left, and a reader
sees the old file or the new one, never a part. A file that is a link stays one: what it leads to is replaced. Owns no format.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Within: no other process that asks is changing the files of this directory, which is made if it is not there.

    The lock is on the directory itself, so nothing is left behind. Blocks until it is free; holders are quick. Raises OSError.
    """
    directory = file.resolve().parent
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace(file: Path, content: bytes, *, mode: int | None = None) -> None:
    """Put `content` in the place of what is in `file`, durably. `mode` None: the one it has, 0600 for a new file.

    Raises OSError, and then the old file is as it was.
    """
    target = file.resolve()
    if mode is None:
        try:
            mode = stat.S_IMODE(target.stat().st_mode)
        except FileNotFoundError:
            mode = 0o600
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
        draft.replace(target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def read(file: Path, most: int) -> bytes | None:
    """What is in `file`, at most `most` + 1 bytes of it; None when it is not there. Waits for nobody: a pipe or a device is an
    OSError."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "is no ordinary file")
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most + 1)
    finally:
        os.close(descriptor)
