"""A program on a real pty, its screen kept by pyte: what a person would see and type."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pyte


class Terminal:
    """Start `command` in `cwd` on a pty of `columns` x `rows`."""

    def __init__(self, command: Sequence[str], cwd: Path, environ: dict[str, str], *, columns: int = 120, rows: int = 40) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status: int | None = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], list(command), {**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """The window changed."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    @property
    def descriptor(self) -> int:
        """Our end of the pty, for its modes."""
        return self._fd

    def type(self, text: str) -> None:
        """Keys, as the terminal sends them."""
        os.write(self._fd, text.encode())

    def text(self) -> str:
        """The screen as it stands."""
        return "\n".join(self.screen.display)

    def wait(self, words: str, seconds: float = 30) -> str:
        """Read until `words` stand on the screen."""
        deadline = time.monotonic() + seconds
        while words not in self.text():
            if not self._read(deadline) and self.status is None and time.monotonic() < deadline:
                continue
            if words in self.text():
                break
            if time.monotonic() >= deadline or self.status is not None:
                raise AssertionError(f"{words!r} never appeared (status {self.status}):\n{self.text()}")
        return self.text()

    def read(self) -> None:
        """Take in what has arrived, or wait a moment for something."""
        self._read(time.monotonic() + 0.05)

    def finish(self, seconds: float = 15) -> int:
        """Read until the program has ended; its exit status."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            if time.monotonic() >= deadline:
                raise AssertionError(f"still running:\n{self.text()}")
            self._read(deadline)
        return self.status

    def kill(self) -> None:
        """End it, whatever it does. Twice is fine."""
        if self._fd < 0:
            return
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -9
        os.close(self._fd)
        self._fd = -1

    def _read(self, deadline: float) -> bool:
        """Take in what has arrived; False when nothing did within a moment."""
        ready, _, _ = select.select([self._fd], [], [], max(0.0, min(0.05, deadline - time.monotonic())))
        if ready:
            try:
                data = os.read(self._fd, 65536)
            except OSError:  # EIO: the other end is closed
                data = b""
            if data:
                self.raw += data
                self._stream.feed(data)
                return True
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
        return False
