"""What was used when, by which model, for whom, and what tools did: a fold over events of any number of conversations.

Must not know where events come from, nor how tables are printed.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from thetis_kernel.protocol.events import Assistant, Event, Spending, ToolInvocation, ToolResult
from thetis_kernel.protocol.spending import Spent

OWN = "(its own)"
"""Spending of a conversation itself, beside its sub-agents."""


class ToolLine(msgspec.Struct):
    """What calls of one tool came to. `failed`: all that did not end well; `ms`: how long they took; `bytes`: of results."""

    calls: int = 0
    failed: int = 0
    ms: int = 0
    bytes: int = 0


class Usages(msgspec.Struct):
    """Feed it each conversation's events in order, by `begin` first."""

    day: dict[str, Spent] = {}
    model: dict[str, Spent] = {}
    child: dict[str, Spent] = {}
    tool: dict[str, ToolLine] = {}
    _names: dict[str, str] = {}
    _whose: str = OWN

    def begin(self, whose: str = "") -> None:
        """The events of another conversation follow; `whose`: the name of a sub-agent, "" for a person's own."""
        self._whose = whose or OWN
        self._names = {}

    def feed(self, event: Event) -> None:
        """Take the next event. One that cannot be read counts for nothing."""
        if event.kind not in ("assistant", "spending", "tool-invocation", "tool-result"):
            return
        try:
            body = event.body
        except msgspec.MsgspecError:
            return
        match body:
            case Assistant() | Spending():
                if body.usage.total:
                    day = datetime.fromtimestamp(event.ts_ms / 1000).strftime("%Y-%m-%d")
                    for table, key in ((self.day, day), (self.model, body.model or "(unknown)"), (self.child, self._whose)):
                        table[key] = table.get(key, Spent()).plus(body.usage, body.cost)
            case ToolInvocation(call=call, name=name):
                self._names[call] = name
                self.tool.setdefault(name, ToolLine()).calls += 1
            case ToolResult(call=call, outcome=outcome, content=content, duration_ms=ms):
                if (name := self._names.pop(call, "")) and (line := self.tool.get(name)) is not None:
                    line.failed += outcome != "ok"
                    line.ms += ms
                    line.bytes += len(content)
            case _:
                pass
