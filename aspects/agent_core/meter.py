"""How much of the model's window the conversation fills: what the provider counted last, and an estimate of what came since.

A fold over the events the agent reads. Must not know what is done about it.
"""

from __future__ import annotations

from typing import Any

from choosing import tokens
from thetis_guest.lenient import mapping, number, text

COUNTED = ("input", "output", "cache_read", "cache_write")


class Meter:
    """Feed it every event in order. `overhead`: tokens of the system prompt and the tools."""

    def __init__(self, overhead: int) -> None:
        self.overhead = overhead
        self._estimated = 0
        self._counted = 0
        self._since: list[tuple[int, int]] = []
        """(number, tokens) of what the last counted request did not hold yet."""
        self._compacted = 0

    def feed(self, event: dict[str, Any]) -> None:
        """Take the next event."""
        seq, size, body = number(event, "seq"), tokens(event), mapping(event, "body")
        self._estimated += size
        used = sum(number(mapping(body, "usage"), part) for part in COUNTED)
        if text(event, "kind") == "compaction":
            self._counted, self._compacted = 0, seq  # what was counted before was counted with what is gone now
        elif text(event, "kind") == "assistant" and used and (number(body, "seen") or seq - 1) >= self._compacted:
            self._counted = used
            self._since = [(at, more) for at, more in self._since if at > (number(body, "seen") or seq)]
        else:
            self._since.append((seq, size))

    def now(self) -> int:
        """Tokens of the next request, about."""
        if self._counted:
            return self._counted + sum(size for _, size in self._since)
        return self.overhead + self._estimated
