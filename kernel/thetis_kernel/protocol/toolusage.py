"""What tools cost in a conversation: a fold over its events, and the sentences that say whether grouping pays.

Numbers come from the replies' own counts; tokens of definitions are estimated at four bytes. Must not know any tool.
"""

from __future__ import annotations

from decimal import Decimal

import msgspec

from thetis_kernel.protocol.events import Assistant, Event, StateChanged, ToolInvocation

BYTES_A_TOKEN = 4
CACHED = Decimal("0.1")
"""The price of a token read from the cache, of that of one read anew (prompt caching guide of the Messages API)."""
WRITTEN = Decimal("1.25")
"""The same of one written to the cache."""


class ToolUsage(msgspec.Struct):
    """`offered` and `all` are the newest counts of tools, their `_bytes` summed over replies. `missed`: calls of tools that
    were not offered; `searched`: groups that a search loaded. `rewritten`: tokens read anew by the replies after a group was
    loaded, because the list of tools stands before everything else."""

    replies: int = 0
    offered: int = 0
    all: int = 0
    offered_bytes: int = 0
    all_bytes: int = 0
    calls: dict[str, int] = {}
    missed: int = 0
    searched: int = 0
    cache_read: int = 0
    cache_write: int = 0
    read_anew: int = 0
    rewritten: int = 0
    _loaded: bool = False

    @property
    def used(self) -> int:
        """How many different tools were called."""
        return len(self.calls)

    def feed(self, event: Event) -> None:
        """Take the next event of a conversation."""
        if event.kind not in ("assistant", "tool-invocation", "state-changed"):
            return
        match event.body:
            case Assistant(tools=[offered, offered_bytes, every, every_bytes], usage=usage):
                self.replies += 1
                self.offered, self.all = offered, every
                self.offered_bytes += offered_bytes
                self.all_bytes += every_bytes
                self.cache_read += usage.cache_read
                self.cache_write += usage.cache_write
                self.read_anew += usage.input
                if self._loaded:
                    self.rewritten += usage.input + usage.cache_write
                    self._loaded = False
            case ToolInvocation(origin="model", name=name):
                self.calls[name] = self.calls.get(name, 0) + 1
            case StateChanged(scope="groups", value=value) if value:
                why = msgspec.json.decode(value, type=_Pin).why
                self.missed += why == "called"
                self.searched += why == "search"
                self._loaded = self._loaded or why in ("called", "search")
            case _:
                pass

    def add(self, other: ToolUsage) -> None:
        """Another conversation's numbers."""
        for field in ("replies", "offered_bytes", "all_bytes", "missed", "searched", "cache_read", "cache_write", "read_anew",
                      "rewritten"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        self.offered, self.all = max(self.offered, other.offered), max(self.all, other.all)
        for name, count in other.calls.items():
            self.calls[name] = self.calls.get(name, 0) + count


class _Pin(msgspec.Struct):
    why: str = ""


def verdict(usage: ToolUsage) -> list[str]:
    """The numbers as lines for people, the last of which says whether grouping pays."""
    if not usage.replies:
        return ["No reply tells of its tools yet."]
    full, offered = usage.all_bytes // usage.replies, usage.offered_bytes // usage.replies
    most = ", ".join(f"{name} {count}" for name, count in sorted(usage.calls.items(), key=lambda item: -item[1])[:8])
    read = usage.cache_read + usage.cache_write + usage.read_anew
    hits = f"{usage.cache_read * 100 // read} %" if read else "none"
    return [
        f"tools: {usage.all} ({full / 1024:.1f} KiB), offered on average {offered / 1024:.1f} KiB",
        f"used: {usage.used} different ones{f': {most}' if most else ''}",
        f"missed: {usage.missed} calls of tools that were not offered; {usage.searched} groups loaded by a search",
        f"cache: {usage.cache_read:,} tokens read of {read:,} ({hits}); {usage.rewritten:,} read anew after a group was loaded",
        _pays(usage),
    ]


def _pays(usage: ToolUsage) -> str:
    share = CACHED if usage.cache_read else Decimal(1)
    if usage.offered_bytes == usage.all_bytes:
        would = int(usage.all_bytes // BYTES_A_TOKEN * share)
        return (f"grouping is off: all definitions together cost about {would:,} tokens' worth in {usage.replies} replies; "
                "what was not used of them is the most it could save")
    saved = int((usage.all_bytes - usage.offered_bytes) // BYTES_A_TOKEN * share)
    cost = int(usage.rewritten * (WRITTEN if usage.cache_read else 0))
    word = "pays" if saved > cost else "does not pay"
    return f"grouping {word} here: it saved about {saved:,} tokens' worth and cost {cost:,}"
