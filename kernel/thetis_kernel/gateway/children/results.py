"""How a sub-agent ended, read from its log: the state, the reason, its last words cut to size, what it wrote.

Only a turn that ended by itself with an answer is `done`. A limit, an error, a restart, a refusal, a question or silence is a
failure with a reason, and what it had said until then is partial work. Pure: a function of the events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.children import ChildState
from thetis_kernel.protocol.events import (
    Assistant,
    ChildSettled,
    Event,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
)
from thetis_kernel.protocol.spending import Spent

WRITING = ("files.write-file", "files.edit-file")
MAX_FILES = 50
HEAD_SHARE = 0.75
REASONS = {
    "limit": "It reached a limit before it was done.",
    "asked": "It asked a question instead of answering.",
    "cancelled": "It was stopped.",
    "repeated-failure": "It repeated a call that failed.",
    "model-error": "Its model could not be asked.",
    "restarted": "Thetis stopped, or its worker died, before it was done.",
    "error": "Its agent failed.",
}


class Ended(msgspec.Struct):
    """What is known of a child's log so far. Feed it every event in order."""

    finished: TurnFinished | None = None
    last: Assistant | None = None
    words: str = ""
    steps: int = 0
    first_ms: int = 0
    last_ms: int = 0
    spent: dict[str, Spent] = {}
    writing: dict[str, str] = {}
    files: dict[str, None] = {}

    def feed(self, event: Event) -> None:
        """Take the next event; one nobody can read says nothing."""
        self.first_ms = self.first_ms or event.ts_ms
        self.last_ms = event.ts_ms
        try:
            body = event.body
        except msgspec.MsgspecError:
            return
        match body:
            case Assistant():
                self.last = body
                self.steps += 1
                self.words = _words(body.blocks) or self.words
            case TurnStarted():
                self.finished = None
            case TurnFinished():
                self.finished = body
            case ToolInvocation() if body.op in WRITING:
                self.writing[body.call] = str(body.args.get("path", ""))
            case ToolResult() if body.outcome == "ok" and body.call in self.writing:
                self.files[self.writing[body.call]] = None
            case _:
                pass


def settled(child: str, label: str, events: Iterable[Event], spent: dict[str, Spent], most: int,
            cut: tuple[ChildState, str] | None = None) -> ChildSettled:
    """How `child` ended. `most`: bytes of its words. `cut`: the state and reason of somebody who ended it, which outrank its
    own end unless that was an answer."""
    ended = Ended()
    for event in events:
        ended.feed(event)
    state, detail = _judged(ended, cut)
    return ChildSettled(
        child=child, state=state, result=capped(ended.words, most), detail=detail, label=label, spent=spent, steps=ended.steps,
        duration_ms=max(0, ended.last_ms - ended.first_ms), files=list(ended.files)[:MAX_FILES])


def _judged(ended: Ended, cut: tuple[ChildState, str] | None) -> tuple[ChildState, str]:
    finished, last = ended.finished, ended.last
    if finished is not None and finished.stopped_by == "stop":
        if last is not None and not last.partial and last.end == "stop" and _words(last.blocks):
            return "done", ""
        if last is not None and last.end == "refusal":
            return "failed", "Its model declined to answer."
        return cut or ("failed", finished.detail or "It ended without an answer.")
    if cut is not None:
        return cut
    if finished is None:
        return "failed", "It was begun and never got to work."
    detail = finished.detail or REASONS.get(finished.stopped_by, f"It ended with {finished.stopped_by}.")
    return ("cancelled" if finished.stopped_by == "cancelled" else "failed"), detail


def capped(words: str, most: int) -> str:
    """At most about `most` bytes of `words`: three quarters of its beginning, the rest its end, and a line that says so."""
    data = words.encode("utf-8", "replace")
    if len(data) <= most:
        return words
    head = cutting.head_of(data, int(most * HEAD_SHARE))
    tail = cutting.tail_of(data, most - int(most * HEAD_SHARE))
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[... {left_out} bytes left out; agent_transcript shows them ...]\n{tail}"


def _words(blocks: list[dict[str, Any]]) -> str:
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(text for text in texts if text.strip()).strip()
