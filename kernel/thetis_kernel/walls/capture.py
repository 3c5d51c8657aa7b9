"""A command's output in bounded memory: the start, the end, and a file for the rest.

Owns the buffer and the spill file. Memory is at most the limit plus one chunk, whatever is written. Bytes become
text once, at the end (and piecewise for a live view), so no visible character is ever cut in two by us.
Must not know where the bytes come from.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
from pathlib import Path

from thetis_kernel.protocol import cutting

_SLACK = 4 * cutting.LONGEST  # bytes kept beyond the limit, to see what stands on both sides of a cut


class Capture:
    """Collects chunks. `limit`: bytes kept; `spill`: a file to create when there are more, up to `spill_limit`."""

    def __init__(self, limit: int, spill: Path | None = None, spill_limit: int = 0) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._gap = False
        self._spill_path = spill
        self._spill_left = spill_limit
        self._spill_fd = -1
        self._spilled = False
        self.total = 0
        self.trouble = ""

    @property
    def truncated(self) -> bool:
        """Whether something is missing from `text()`."""
        return self.total > self._head_limit + self._tail_limit

    @property
    def spill(self) -> str:
        """The file with the output from its start, or ""."""
        return str(self._spill_path) if self._spilled else ""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        before = self.truncated
        self.total += len(chunk)
        if self.truncated:
            if not before:
                self._open_spill()
                self._write_spill(bytes(self._head + self._tail))
            self._write_spill(chunk)
        room = self._head_limit + _SLACK - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        surplus = max(0, len(self._tail) - self._tail_limit - _SLACK)
        self._gap = self._gap or surplus > 0
        del self._tail[:surplus]

    def text(self) -> str:
        """The output, with a line that says how much is missing where something is."""
        if not self.truncated:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        whole = b"" if self._gap else bytes(self._head + self._tail)
        head = cutting.head_of(whole or bytes(self._head), self._head_limit)
        tail = cutting.tail_of(whole or bytes(self._tail), self._tail_limit)
        # A byte that is no text becomes a sign of three: then this is the least that is missing.
        missing = max(self.total - len(head.encode()) - len(tail.encode()), 1)
        return f"{head}\n[... {missing} bytes left out ...]\n{tail}"

    def close(self) -> None:
        """Close the spill file; the values stay readable."""
        if self._spill_fd >= 0:
            os.close(self._spill_fd)
            self._spill_fd = -1

    def _open_spill(self) -> None:
        if self._spill_path is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._spill_fd = os.open(self._spill_path, flags, 0o600)
        except OSError as error:
            self.trouble = f"The whole output could not be kept: {error.strerror}."
            return
        self._spilled = True
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self._spill_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # while it is written, nobody looks through it

    def _write_spill(self, data: bytes) -> None:
        if self._spill_fd < 0 or self._spill_left <= 0:
            return
        data = data[: self._spill_left]
        self._spill_left -= len(data)
        try:
            while data:
                data = data[os.write(self._spill_fd, data) :]
        except OSError as error:
            self._spill_left = 0
            self.trouble = f"The file with the whole output is incomplete: {error.strerror}."


class LiveText:
    """The same bytes as text while they come, for a view; ends after `limit` bytes, a view needs no gigabytes."""

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._left = limit

    def feed(self, chunk: bytes) -> str:
        """Text that is complete so far, "" when there is none or the limit is reached."""
        chunk = chunk[: self._left]
        self._left -= len(chunk)
        return self._decoder.decode(chunk)

    def end(self) -> str:
        """What an unfinished last character becomes."""
        return self._decoder.decode(b"", final=True)
