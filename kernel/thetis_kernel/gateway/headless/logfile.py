"""The daemon's log file: lines of JSON, bounded, rotated, and never a reason to fail.

Owns the file and its predecessors. A full disk costs lines, not turns: what could not be written is counted, told by
`trouble`, and said in the file once there is room. Must not know what is worth logging.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

MAX_BYTES = 1 << 20
"""Of one file; with its predecessors the log takes four times that at most."""
KEPT = 3
MAX_TEXT = 2000
"""Characters of one field: a line is for reading."""


class LogFile:
    """Appends to `path`; `path.1` is the one before it, `path.3` the oldest."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max = max_bytes
        self._fd = -1
        self._lost = 0
        self.trouble = ""
        """Why lines are being lost, "" while they are not."""

    def write(self, level: str, what: str, **fields: Any) -> None:
        """One line. Never raises for what the disk says."""
        line: dict[str, Any] = {"at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "level": level, "what": what[:MAX_TEXT]}
        for name, value in fields.items():
            line[name] = value[:MAX_TEXT] if isinstance(value, str) else value
        try:
            if self._lost:
                self._put({**line, "level": "warn", "what": f"{self._lost} lines were lost: {self.trouble}"})
                self._lost = 0
            self._put(line)
            self.trouble = ""
        except OSError as error:
            self._lost += 1
            self.trouble = f"The log {self._path} cannot be written: {os.strerror(error.errno) if error.errno else error}."

    def close(self) -> None:
        """Give the file back. Writing opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put(self, line: dict[str, Any]) -> None:
        data = msgspec.json.encode(line) + b"\n"
        if self._fd >= 0 and os.fstat(self._fd).st_nlink == 0:  # somebody removed it
            self.close()
        if self._fd < 0:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        size = os.fstat(self._fd).st_size
        if size and size + len(data) > self._max:
            self._rotate()
            size = 0
        if os.write(self._fd, data) < len(data):  # the disk became full in the middle: half a line helps nobody
            os.ftruncate(self._fd, size)
            raise OSError(28, os.strerror(28))

    def _rotate(self) -> None:
        for number in range(KEPT, 0, -1):
            older = self._path if number == 1 else _numbered(self._path, number - 1)
            with contextlib.suppress(FileNotFoundError):
                os.replace(older, _numbered(self._path, number))
        os.close(self._fd)
        self._fd = -1
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def log_lines(path: Path) -> Iterator[dict[str, Any]]:
    """What stands in the log, oldest first; a line that is none is passed over."""
    for each in [*(_numbered(path, number) for number in range(KEPT, 0, -1)), path]:
        with contextlib.suppress(OSError):
            for raw in each.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):
                    line = msgspec.json.decode(raw)
                    if isinstance(line, dict):
                        yield line


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
