"""A scripted model for a parent and eight children a turn, each child with a fate of its own.

The server keeps nothing between requests: what it answers is read from the request's history and from how often that very
request came. It counts a request's tokens by its size, so that a long conversation is compacted as a real one is. `FATES` says
how each child must end.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.messages_server import Answer, MessagesServer, Request, call, cut, error, reply, silent, spaced, text

CHILDREN = 8
FATES = {
    0: "done", 1: "done", 2: "done", 3: "done", 4: "failed", 5: "cancelled", 6: "done", 7: "failed",
}
"""0 answers at once, 1 late, 2 after two 529, 3 after a cut stream, 4 is refused for good, 5 says nothing until it is cancelled,
6 calls a tool first, 7 declines."""
BRIEF = "Objective: piece {turn}.{fate}\nReturn: a word.\nSources: none.\nBoundaries: stop then.\nKnown: nothing."
_PIECE = re.compile(r"piece (\d+)\.(\d)")
WHOLE = "All of them have settled."


class Family:
    """What `MessagesServer.otherwise` answers with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._came: Counter[str] = Counter()
        self.calls = 0

    def __call__(self, request: Request) -> Answer:
        if "You sum up a part" in str(request.told.get("system")):
            return reply(text("Progress: rounds of eight."), size=40)
        first = _texts(request.messages[0])
        piece = _PIECE.search(first)
        with self._lock:
            self.calls += 1
            key = f"{first[:80]}{len(request.messages)}"
            self._came[key] += 1
            came = self._came[key]
        return self._child(piece, request, came) if piece else self._parent(request)

    def _parent(self, request: Request) -> Answer:
        messages = request.messages
        turn, words = [(at, words) for at, message in enumerate(messages) for words in _lines(message)
                       if words.startswith("round")][-1]
        number = words.split()[1]
        replies = [message for message in messages[turn:] if message["role"] == "assistant"]
        counted = {"usage": {"input_tokens": len(request.raw) // 4, "output_tokens": 1}}
        if not replies:
            briefs = [BRIEF.format(turn=number, fate=fate) for fate in range(CHILDREN)]
            return reply(text("I split it."), *[
                call(f"s{number}-{n}", "spawn_agent", label=f"{number}-{n}", task=brief) for n, brief in enumerate(briefs)],
                         size=40, **counted)
        if len(replies) == 1:
            return reply(call(f"w{number}a", "wait", until="all", timeout_secs=60,
                              children=[f"{number}-{fate}" for fate in range(CHILDREN) if fate != 5]), **counted)
        if len(replies) == 2:
            return reply(call(f"c{number}", "cancel_agent", child=f"{number}-5"), call(f"w{number}b", "wait", until="all"),
                         **counted)
        return reply(text(WHOLE), **counted)

    def _child(self, piece: re.Match[str], request: Request, came: int) -> Answer:
        fate = int(piece.group(2))
        answer = reply(text(f"The word of {piece.group(0)}."), size=6)
        if fate == 1:
            return spaced(answer, 0.03)
        if fate == 2 and came <= 2:
            return error(529, retry_after="0")
        if fate == 3 and came == 1:
            return cut(answer, 5)
        if fate == 4:
            return error(400, words="This can never succeed.")
        if fate == 5:
            return silent(answer, 3)
        if fate == 6 and len(request.messages) == 1:
            return reply(call(f"l{piece.group(1)}", "list", path="."))
        if fate == 7:
            return reply(text("I would rather not."), stop="refusal")
        return answer


def configure(base: Path, server: MessagesServer, more: str = "") -> None:
    """The person's configuration for `tests.support.gateways.gateway`; the key is in OUR_KEY."""
    (base / "none.toml").write_text(
        f'[[providers]]\nname = "anthropic"\nbase_url = "{server.url}"\nkey = "env:OUR_KEY"\nidle_seconds = 60\n{more}')


def _texts(message: dict[str, Any]) -> str:
    return "\n".join(_lines(message))


def _lines(message: dict[str, Any]) -> list[str]:
    """The text blocks of a message, as the server keeps them."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [str(block.get("text", "")) for block in content if block.get("type") == "text"]


def threads(pid: int) -> int:
    """Of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def descriptors(pid: int) -> int:
    """Open in a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
