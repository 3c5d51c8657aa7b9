"""What the last look at a worktree saw, kept beside its record: of each file enough to tell that it has not changed.

It is a cache: lost, unreadable or of another format it costs a longer look and nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

FORMAT = 2
NAME = "thetis-snapshot-memory"


class Seen(NamedTuple):
    """A file or link: what lstat says of it (times in nanoseconds), its git mode and the 20 bytes of its blob's id.

    No program can set `ctime`, so a file with the same one, size and inode has the same bytes.
    """

    ctime: int
    mtime: int
    size: int
    inode: int
    mode: int
    blob: bytes


class Memory(msgspec.Struct, array_like=True):
    """`files` by path; `trees`: the trees that are in the database; `left_out`: directories that are, for good, and why;
    `ignored`: directories that git ignores and that were small enough to keep.
    """

    format: int = FORMAT
    files: dict[bytes, Seen] = {}
    trees: set[bytes] = set()
    left_out: dict[bytes, str] = {}
    ignored: set[bytes] = set()


def load(record: Path) -> Memory:
    """The memory of the worktree whose record is `record`; an empty one when there is none."""
    try:
        found = msgspec.msgpack.decode((record / NAME).read_bytes(), type=Memory)
    except (OSError, msgspec.MsgspecError):
        return Memory()
    return found if found.format == FORMAT else Memory()


def save(record: Path, memory: Memory) -> None:
    """Replace it. Not synced: an old or missing one does no harm."""
    draft = record / f"{NAME}.{os.getpid()}"
    draft.write_bytes(msgspec.msgpack.encode(memory))
    draft.replace(record / NAME)
