"""Writing file content into the object database: one by one, or many with a single sync.

libgit2 syncs every object and its directory by itself: 1.3 ms each on a fast disk, 3 ms on a busy one, so a turn that
leaves 20,000 new files would take a minute. Many are therefore written here, in git's format of loose objects, and made
durable together before anything refers to them, and so are large ones.
"""

from __future__ import annotations

import hashlib
import os
import zlib

import pygit2
from pygit2.enums import ObjectType

from thetis_kernel.repo.durable import sync_filesystem
from thetis_kernel.repo.library import GIT_ERRORS, common_directory

MANY = 100
"""Objects from which on one sync of the filesystem costs less than theirs."""
LARGE = 1 << 20
"""Bytes from which on an object is written here, too: the library compresses at 30 MB/s whatever comes of it."""
SAMPLE = 64 << 10
WORTH = 0.95
"""Of its size a sample must come to for the whole to be compressed; archives, pictures and binaries seldom do."""


class Blobs:
    """Content for the object database of `repository`; `expected` is about how many there will be."""

    def __init__(self, repository: pygit2.Repository, expected: int) -> None:
        self._repository = repository
        self._objects = common_directory(repository) / "objects"
        self._many = expected >= MANY
        self._here = not _is_shared(repository)
        self._unsynced = False

    def write(self, data: bytes, kind: ObjectType = ObjectType.BLOB) -> pygit2.Oid:
        """The id of `data`, which is in the database from here on; a blob, or a tree in git's own form. Raises GIT_ERRORS."""
        if not self._here or not (self._many or len(data) >= LARGE):
            return self._repository.odb.write(kind, data)
        header = b"%b %d\0" % (kind.name.lower().encode(), len(data))
        digest = hashlib.sha1(header, usedforsecurity=False)
        digest.update(data)
        identity = pygit2.Oid(hex=digest.hexdigest())
        if identity not in self._repository.odb:
            self._write_loose(str(identity), header, data)
            self._unsynced = True
        return identity

    def sync(self) -> None:
        """Make everything written durable; to be called before anything refers to it. Raises OSError."""
        if self._unsynced:
            sync_filesystem(self._objects)
            self._unsynced = False

    def _write_loose(self, identity: str, header: bytes, data: bytes) -> None:
        place = self._objects / identity[:2] / identity[2:]
        place.parent.mkdir(exist_ok=True)
        draft = place.with_name(f"tmp_obj_{os.getpid()}_{identity[2:]}")  # git prunes what is named so
        packer, whole = zlib.compressobj(_level(data)), memoryview(data)
        with draft.open("wb") as file:
            file.write(packer.compress(header))
            for at in range(0, len(data), LARGE):
                file.write(packer.compress(whole[at : at + LARGE]))
            file.write(packer.flush())
        draft.chmod(0o444)
        draft.rename(place)


def _level(data: bytes) -> int:
    """How hard to compress: not at all what would not get smaller. Looks at the beginning and the middle of large content."""
    if len(data) < LARGE:
        return 1
    middle = len(data) // 2
    samples = data[:SAMPLE] + data[middle : middle + SAMPLE]
    return 1 if len(zlib.compress(samples, 1)) < WORTH * len(samples) else 0


def _is_shared(repository: pygit2.Repository) -> bool:
    """Whether the objects need modes of their own (core.sharedRepository), which libgit2 knows to give."""
    try:
        return (repository.config["core.sharedrepository"] or "").lower() not in ("", "false", "umask", "0")
    except GIT_ERRORS:
        return False
