"""The person's trust book: which digest of which root they looked at and agreed to. Kept outside every checkout, 0600.

A book that cannot be read trusts nothing. Must not know what a digest covers.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from thetis_kernel.errors import UsageError

MAX_BYTES = 1 << 20


class Entry(msgspec.Struct, frozen=True):
    """A person agreed at `at_ms` to what `summary` counts."""

    root: str
    digest: str
    at_ms: int
    summary: str = ""


class TrustBook:
    """The entries of one file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def entries(self) -> list[Entry]:
        """All, oldest first. Raises UsageError when the file is there and cannot be understood."""
        try:
            with self._file.open("rb") as stream:
                return msgspec.json.decode(stream.read(MAX_BYTES), type=list[Entry])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(f"The trust book {self._file} cannot be read: {type(error).__name__}.",
                             hint="Nothing is trusted meanwhile. Remove the file to begin a new one.", code="trust") from error

    def holds(self, root: str, digest: str) -> bool:
        """Whether exactly this was agreed to."""
        return bool(digest) and any(entry.root == root and entry.digest == digest for entry in self._known())

    def knows(self, root: str) -> bool:
        """Whether anything of this root was ever agreed to."""
        return any(entry.root == root for entry in self._known())

    def add(self, root: str, digest: str, summary: str) -> None:
        """Agree to this and to nothing else of the root: an earlier tree is not trusted any more."""
        with self._changing() as entries:
            entries[:] = [entry for entry in entries if entry.root != root]
            entries.append(Entry(root, digest, time.time_ns() // 1_000_000, summary))

    def revoke(self, root: str) -> bool:
        """Forget the root; False when it was not in the book."""
        with self._changing() as entries:
            before = len(entries)
            entries[:] = [entry for entry in entries if entry.root != root]
            return len(entries) < before

    def _known(self) -> list[Entry]:
        try:
            return self.entries()
        except UsageError:
            return []

    @contextmanager
    def _changing(self) -> Iterator[list[Entry]]:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self.entries()
            yield entries
            temporary = self._file.with_suffix(f".{secrets.token_hex(4)}.tmp")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(msgspec.json.encode(entries))
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(self._file)
        finally:
            os.close(lock)
