"""One command of a terminal: its output within bounds, what is shown of it while it comes, how it ended.

Owns the way of the bytes from the pty to text: up to the mark they are this command's, as plain text they go into a capture
(start, end, and a spill file for the whole), into what was not read yet, and to whoever watches. Not thread-safe: the
terminal's lock is held around every call. Must not know descriptors or orders.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thetis_kernel.toolhost.terminals.marks import Marker
from thetis_kernel.toolhost.terminals.plain import PlainText
from thetis_kernel.toolhost.terminals.shell import Report
from thetis_kernel.walls.capture import Capture

OUTPUT_BYTES = 32 * 1024
"""Of a command's output that its result holds; the whole goes to the spill."""
UNREAD_BYTES = 16 * 1024
"""Of what was written since somebody last looked."""
SPILL_BYTES = 64 * 1024**2
LIVE_CHARACTERS = 256 * 1024
"""Of a command's output that a screen is sent while it runs: nobody reads more."""

Watch = Callable[[str], None]


class Run:
    """One command, from the moment it is handed to the shell. Times are of the monotonic clock, in seconds."""

    def __init__(
        self,
        number: int,
        text: str,
        *,
        background: bool,
        started: float,
        deadline: float,
        spill: Path | None,
        watch: Watch | None,
    ) -> None:
        self.number = number
        self.nonce = secrets.token_hex(8)
        self.text = text
        self.background = background
        self.started = started
        self.deadline = deadline
        self.ended = 0.0
        self.report: Report | None = None
        self.done = False
        self.timed_out = self.cancelled = self.crowded = False
        self.told = True
        """Whether somebody wants to hear of its end in the background."""
        self.left = 0
        """Processes of it that go on after its end."""
        self.starved = 0
        """Processes that the kernel ended because all that runs in the terminal had too much memory."""
        self.notes: list[str] = []
        self._marker = Marker(self.nonce)
        self._plain = PlainText()
        self._capture = Capture(OUTPUT_BYTES, spill, SPILL_BYTES)
        self._unread = Capture(UNREAD_BYTES)
        self._watch = watch
        self._watched = 0
        self._shown = ""
        self._looked = ""

    @property
    def marked(self) -> bool:
        """Whether all output before the command's end has been heard."""
        return self._marker.seen

    @property
    def moves(self) -> bool:
        """Whether the program drew on the screen: then its screen says more than its output."""
        return self._plain.moves

    @property
    def code(self) -> int:
        """The exit code as a shell has it; 137 for one that was lost."""
        return self.report.code if self.report is not None else 137

    @property
    def waits_to_be_shown(self) -> bool:
        """Whether the unfinished line has something a watcher has not seen."""
        return self._watch is not None and self._plain.pending != self._shown

    def heard(self, data: bytes) -> bytes:
        """Take the next bytes of the terminal; what of them came before the command's end."""
        before, _ = self._marker.feed(data)
        text = self._plain.feed(before)
        if text:
            self._take(text)
        return before

    def quiet(self) -> None:
        """Nothing came for a moment: show the unfinished line too, it may be a prompt."""
        pending = self._plain.pending
        fresh = pending.removeprefix(self._shown) if pending.startswith(self._shown) else f"\n{pending}"
        self._shown = pending
        self._show(fresh)

    def finish(self, now: float) -> None:
        """No more will come."""
        rest = self._plain.feed(self._marker.end()) + self._plain.end()
        self._take(rest)
        self._capture.close()
        self.ended = now
        self.done = True

    def unread(self) -> str:
        """What was written since the last call, the unfinished line included."""
        pending = self._plain.pending
        text = self._unread.text() + pending
        if self._looked and text.startswith(self._looked):
            text = text[len(self._looked) :]
        self._unread = Capture(UNREAD_BYTES)
        self._looked = pending
        return text

    def result(self, now: float) -> dict[str, Any]:
        """How it ended, as terminal.run answers; for one that runs, how it stands."""
        found: dict[str, Any] = {
            "exit": self.code if self.done else None,
            "signal": self.code - 128 if self.done and 128 < self.code <= 128 + 64 else 0,
            "timed_out": self.timed_out and self.done,
            "cancelled": self.cancelled and self.done,
            "duration_ms": round(((self.ended if self.done else now) - self.started) * 1000),
        }
        return found

    def output(self) -> dict[str, Any]:
        """The whole output, cut in the middle when it is long."""
        text = self._capture.text() + self._plain.pending
        found: dict[str, Any] = {"output": text, "truncated": self._capture.truncated, "spill": self._capture.spill}
        if self._capture.truncated:
            found["total_bytes"] = self._capture.total
        return found

    def trouble(self) -> list[str]:
        """Sentences for the agent about this command."""
        notes = list(self.notes)
        if self.crowded:
            notes.append("Ended: it had too many threads and processes at once.")
        if self.starved and self.done:
            notes.append(f"{self.starved} process(es) were ended for want of memory: a terminal has a limit.")
        if self.left and self.done:
            notes.append(f"{self.left} process(es) it started still run in this terminal.")
        if self._capture.trouble:
            notes.append(self._capture.trouble)
        return notes

    def _take(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self._capture.feed(data)
        self._unread.feed(data)
        if text:
            if self._shown:
                text = text.removeprefix(self._shown) if text.startswith(self._shown) else f"\n{text}"
            self._shown = ""
            self._show(text)

    def _show(self, text: str) -> None:
        if self._watch is None or not text or self._watched >= LIVE_CHARACTERS:
            return
        self._watched += len(text)
        self._watch(text[:LIVE_CHARACTERS])
