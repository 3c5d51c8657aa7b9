"""What a guest prints: kept up to a cap, then dropped and marked (reliability G10).

A stream is a file in memory that WASI writes itself and that cannot grow past the cap. The binding's callbacks are
not used: they run on threads of the engine's own, after the call has ended and even while the interpreter shuts down,
which aborts the process. What does not fit is an I/O error to the guest; its shim drops it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import tempfile

PAGE = 4096  # a write is cut where it leaves the last page below the cap

_F_ADD_SEALS, _SHRINK_GROW = 1033, 0x2 | 0x4  # linux/fcntl.h


class Captured:
    """One stream. Give `path` to WASI, which opens and empties it; then `limit`; at the end `text` and `close`."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        if sys.platform == "linux":
            self._fd = os.memfd_create("guest-output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        else:
            with tempfile.TemporaryFile() as file:
                self._fd = os.dup(file.fileno())

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self._fd}" if sys.platform == "linux" else f"/dev/fd/{self._fd}"

    def limit(self) -> None:
        """Fix the size, once WASI has opened the path."""
        os.ftruncate(self._fd, self._cap)
        if sys.platform == "linux":
            fcntl.fcntl(self._fd, _F_ADD_SEALS, _SHRINK_GROW)

    def text(self) -> str:
        """What was written, with a marker when some was dropped."""
        written = os.pread(self._fd, min(self._written(), self._cap), 0).rstrip(b"\0")
        text = written.decode("utf-8", "replace")
        if len(written) > self._cap - PAGE:
            return f"{text}\n... output cut: the guest printed more than {self._cap} bytes\n"
        return text

    def close(self) -> None:
        os.close(self._fd)

    def _written(self) -> int:
        """Bytes up to the first hole: the file is sparse, and most guests print nothing."""
        if sys.platform != "linux":
            return self._cap
        try:
            os.lseek(self._fd, 0, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return 0
            raise
        return os.lseek(self._fd, 0, os.SEEK_HOLE)
