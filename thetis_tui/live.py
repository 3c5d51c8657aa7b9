"""What streams by right now in one conversation: replies being written, and the output of running commands.

Nothing here is the truth: deltas may drop. A durable assistant event closes the reply it belongs to, and what comes
late for a closed reply is ignored, so no words ever stand twice. Must not know about widgets.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from thetis_kernel.protocol.client import Delta

from thetis_tui.sanitise import console, visible

OUTPUT_LINES = 400
"""Lines kept of a running command's output; the whole of it is in its result."""
_LINE = 4000
_CLOSED_KEPT = 64


@dataclass(slots=True)
class Reply:
    """One model reply as far as it was heard, made safe to draw. `key` is the delta's stream, or a made-up one."""

    key: str
    text: str = ""
    thinking: str = ""
    _held: str = ""

    def more_text(self, raw: str) -> str:
        """Add visible text; returns what to append (a CR at the end waits for its LF)."""
        raw = self._held + raw
        self._held = "\r" if raw.endswith("\r") else ""
        safe = visible(raw[: len(raw) - len(self._held)])
        self.text += safe
        return safe


@dataclass(slots=True)
class Output:
    """The end of a running command's output, bounded."""

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=OUTPUT_LINES))
    total: int = 0
    _open: str = ""

    def add(self, raw: str) -> None:
        """More output; the last line stays open until its newline."""
        *whole, self._open = (self._open + raw).split("\n")
        for line in whole:
            self.lines.append(console(line[-_LINE:]))
        self.total += len(whole)
        self._open = self._open[-_LINE:]

    def tail(self, count: int) -> list[str]:
        """The last `count` lines, the open one included."""
        shown = list(self.lines)[-count:]
        return [*shown, console(self._open)][-count:] if self._open else shown


class Live:
    """The open replies of a conversation, oldest first, and the outputs of its running calls."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.outputs: dict[str, Output] = {}
        self._closed: deque[str] = deque(maxlen=_CLOSED_KEPT)
        self._unnamed = 0

    def hear(self, delta: Delta) -> tuple[Reply, str] | None:
        """Take a text or thinking delta; returns its reply and the new safe text, or None when there is no news."""
        key = delta.stream or f"#{self._unnamed}"
        if key in self._closed or not delta.text:
            return None
        reply = self.replies.get(key)
        if reply is None:
            reply = self.replies[key] = Reply(key)
        if delta.kind == "thinking":
            safe = visible(delta.text)
            reply.thinking += safe
            return reply, safe
        return reply, reply.more_text(delta.text)

    def output(self, delta: Delta) -> Output:
        """Take an output delta; returns the call's output so far."""
        out = self.outputs.setdefault(delta.call, Output())
        out.add(delta.text)
        return out

    def assistant_stored(self) -> Reply | None:
        """A reply became durable: the oldest open one is closed and returned."""
        if not self.replies:
            return None
        key = next(iter(self.replies))
        return self._close(key)

    def result_stored(self, call: str) -> None:
        """A call has its result: its output is history."""
        self.outputs.pop(call, None)

    def turn_ended(self) -> list[Reply]:
        """Nothing streams any more; returns the replies that never became durable."""
        self.outputs.clear()
        return [self._close(key) for key in list(self.replies)]

    def _close(self, key: str) -> Reply:
        if key.startswith("#"):
            self._unnamed += 1
        else:
            self._closed.append(key)
        return self.replies.pop(key)
