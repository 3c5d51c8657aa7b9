"""Bodies too large for a row: write-once files named by their SHA-256, checked when written and when read.

A blob is synced, file and then directory, before anything may refer to it. Knows nothing of rows and references.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from thetis_kernel.errors import StoreError, StoreFull, UsageError
from thetis_kernel.protocol.events import BlobRef
from thetis_kernel.store import files

DIGEST = re.compile(r"[0-9a-f]{64}")
FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says when there is no room: device, quota, file size limit."""


class Blobs:
    """A directory of blobs in two levels (`ab/cd...`). Safe to use from any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, digest: str) -> Path:
        """Where the blob `digest` (64 lower-case hex digits) lives or would live."""
        if not DIGEST.fullmatch(digest):
            raise UsageError(f"{digest!r} is not the digest of a blob")
        return self._directory / digest[:2] / digest[2:]

    def __contains__(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def put(self, content: bytes, *, media_type: str = "application/octet-stream", name: str = "") -> BlobRef:
        """Store `content` durably and return its reference; storing the same bytes again costs one read.

        Raises StoreFull when there is no room, StoreError for other I/O errors; then nothing is visible.
        """
        digest = hashlib.sha256(content).hexdigest()
        reference = BlobRef(digest, len(content), media_type, name)
        path = self.path(digest)
        try:
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
                files.sync_dir(path.parent)  # its writer may have died between the file and its name
                return reference
            files.private_dir(self._directory)
            files.private_dir(path.parent)
            files.replace(path, content)
        except OSError as error:
            kind = StoreFull if error.errno in FULL_ERRNOS else StoreError
            raise kind(f"a blob of {len(content)} bytes could not be stored: {error.strerror}") from error
        return reference

    def get(self, digest: str) -> bytes:
        """The blob's bytes. Raises StoreError (`blob-missing`, `blob-damaged`, `store`) instead of returning others."""
        try:
            content = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise StoreError(f"the blob {digest} is missing", code="blob-missing", digest=digest) from None
        except OSError as error:
            raise StoreError(f"the blob {digest} cannot be read: {error.strerror}", digest=digest) from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoreError(f"the blob {digest} is damaged", code="blob-damaged", digest=digest)
        return content

    def remove(self, digest: str) -> None:
        """Forget a blob nothing refers to any more; one that is not there is fine."""
        path = self.path(digest)
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            files.sync_dir(path.parent)

    def __iter__(self) -> Iterator[str]:
        """The digests of all blobs, in no order."""
        if not self._directory.is_dir():
            return
        for level in self._directory.iterdir():
            for path in level.iterdir():
                if DIGEST.fullmatch(level.name + path.name):
                    yield level.name + path.name

    def age_s(self, digest: str) -> float:
        """Seconds since the blob was written, by the file's time; 0.0 when it is gone."""
        return _age_s(self.path(digest))

    def remove_unfinished(self, age_s: float) -> int:
        """Remove files a crash left half written, if older than `age_s` seconds; how many."""
        unfinished = [path for path in self._directory.glob("??/.*") if _age_s(path) > age_s]
        for path in unfinished:
            path.unlink(missing_ok=True)
        return len(unfinished)


def _age_s(path: Path) -> float:
    try:
        return max(0.0, time.time() - os.stat(path).st_mtime)
    except FileNotFoundError:
        return 0.0
