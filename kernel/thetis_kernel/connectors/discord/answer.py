"""What the answer of one turn looks like by now: the texts that stand in the log, what is being written, and what goes on.

The log is the truth: what streams by is shown until the reply it belongs to is in the log, and then that counts. Must not know
messages.
"""

from __future__ import annotations

from thetis_kernel.connectors.discord.pages import LIMIT, pages, units
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.events import Assistant, Event, ToolInvocation, ToolResult, TurnFinished, TurnStarted
from thetis_kernel.protocol.plaintext import clean_line, clean_text

MAX_ACTIVITY = 120
SILENT_ENDS = frozenset({"stop", "asked"})
"""Ends of a turn that need no word: there is an answer, or a question."""
STARTED = "Thinking"


class Answer:
    """One turn's answer. `turn` is "" before one has begun."""

    def __init__(self, turn: str = "") -> None:
        self.turn = turn
        self.over = False
        self._settled: list[str] = []
        self._streaming: dict[str, str] = {}
        self._activity = STARTED if turn else ""
        self._end = ""

    def event(self, event: Event) -> None:
        """Take an event of the log, in order."""
        body = event.body
        if isinstance(body, TurnStarted):
            self.turn, self.over, self._end = body.turn, False, ""
            self._activity = STARTED
        elif isinstance(body, Assistant):
            self._streaming.clear()
            text = clean_text("\n\n".join(str(block.get("text", "")) for block in body.blocks if block.get("type") == "text"))
            if text.strip():
                self._settled.append(text.strip("\n"))
        elif isinstance(body, ToolInvocation):
            self._activity = f"Using {body.name}"
        elif isinstance(body, ToolResult):
            self._activity = STARTED
        elif isinstance(body, TurnFinished):
            self.over, self._activity = True, ""
            self._streaming.clear()
            if body.stopped_by not in SILENT_ENDS:
                self._end = f"*{_words(body.stopped_by)}{': ' if body.detail else '.'}{clean_line(body.detail)}*"

    def delta(self, delta: Delta) -> bool:
        """Take something that streams by; whether the answer looks different now."""
        if delta.kind == "text":
            self._streaming[delta.stream] = self._streaming.get(delta.stream, "") + delta.text
            self._activity = "Writing"
        elif delta.kind == "waiting":
            self._streaming.clear()  # a try that broke off is made again from its beginning
            self._activity = clean_line(delta.text)[:MAX_ACTIVITY]
        else:
            return False
        return True

    def pages(self) -> list[str]:
        """The messages of the answer, the last with a line about what goes on. Empty when there is nothing to show."""
        texts = [*self._settled, *(clean_text(text) for text in self._streaming.values()), self._end]
        found = pages("\n\n".join(text for text in texts if text.strip()))
        if self._activity and not self.over:
            line = f"-# {clean_line(self._activity)[:MAX_ACTIVITY]} …"
            if found and units(found[-1]) + units(line) + 1 <= LIMIT:
                found[-1] += f"\n{line}"
            elif not found:
                found.append(line)
        return found


def _words(stopped_by: str) -> str:
    return {"cancelled": "Stopped", "restarted": "Cut off by a restart", "limit": "At a limit",
            "model-error": "The model could not answer", "repeated-failure": "The same failed again and again"}.get(
                stopped_by, "It went wrong")
