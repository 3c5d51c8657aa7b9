"""Events of an ordinary conversation: the page a guest reads, and one specimen of every kind for renderers."""

from __future__ import annotations

import json
import time
from typing import Any

from thetis_kernel.forge.fakes.host import lately_ms
from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.ids import new_call_id, new_session_id, new_turn_id, short


class Log:
    """An append-only list of events as guests see them: {"seq", "kind", "ts_ms", "body"}."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.bytes = 0

    def append(self, body: ev.Body) -> int:
        """Add an event; its sequence number."""
        raw = ev.encode_body(body)
        self.bytes += len(raw)
        seq = self.events[-1]["seq"] + 1 if self.events else 1
        now = time.time_ns() // 1_000_000
        self.events.append({"seq": seq, "kind": ev.kind_of(body), "ts_ms": now, "body": json.loads(raw)})
        return seq

    def page(self, after: int, max_bytes: int) -> dict[str, Any]:
        """Events after `after`, at least one and then up to `max_bytes`."""
        page: list[dict[str, Any]] = []
        size = 0
        for event in self.events:
            if event["seq"] <= after:
                continue
            size += len(json.dumps(event))
            if page and size > max_bytes:
                break
            page.append(event)
        last = page[-1]["seq"] if page else after
        return {"events": page, "next": last, "end": not self.events or last >= self.events[-1]["seq"]}

    def put(self, kind: str, body: dict[str, Any]) -> None:
        """Add an event of a kind this version does not know."""
        seq = self.events[-1]["seq"] + 1
        self.events.append({"seq": seq, "kind": kind, "ts_ms": lately_ms(), "body": {"kind": kind, **body}})

    def hide(self, first: int, last: int) -> None:
        """Take these events from sight, as the store does with what a compaction or a rewind covers."""
        self.events = [event for event in self.events if not first <= event["seq"] <= last]


def conversation(session: str, turn: str, model: str) -> Log:
    """A conversation in its second turn: the first is whole, with a tool call; the second has just begun."""
    log, call, first = Log(), new_call_id(), new_turn_id()
    log.append(ev.SessionStarted(".", "tui", "agent", model, f"conv/{short(session)}", "main"))
    log.append(ev.User("What does the book module do?"))
    log.append(ev.TurnStarted(first, "agent", model))
    asked = {"type": "tool_use", "id": call, "name": "read", "input": {"path": "src/ledger/book.py"}}
    log.append(ev.Assistant([{"type": "text", "text": "Let me read it."}, asked], model, "tool-use", turn=first))
    log.append(ev.ToolInvocation(call, "read", {"path": "src/ledger/book.py"}, "files.read-file", False, first))
    text = '{"path":"src/ledger/book.py","text":"class Book:","first":1,"lines":1,"total":1,"truncated":false}'
    log.append(ev.ToolResult(call, "ok", text, duration_ms=3, turn=first))
    log.append(ev.Assistant([{"type": "text", "text": "It keeps entries in order."}], model, "stop", turn=first))
    log.append(ev.TurnFinished(first, "stop", iterations=2, tool_calls=1, duration_ms=5200))
    log.append(ev.User("Thanks. And where is it tested?"))
    log.append(ev.TurnStarted(turn, "agent", model))
    return log


def specimens() -> Log:
    """One event of each kind of the log, and one of a kind from the future."""
    log, call, turn, child = Log(), new_call_id(), new_turn_id(), new_session_id()
    model = "claude-sonnet-4-5"
    bodies: tuple[ev.Body, ...] = (
        ev.SessionStarted(".", "tui", "agent", model, "conv/5c0e91aa", "main"),
        ev.User("Rename `total` to `balance` in **book.py**.", [ev.BlobRef("0" * 64, 2048, "image/png", "shot.png")]),
        ev.TurnStarted(turn, "agent", model),
        ev.Assistant(
            [
                {"type": "thinking", "thinking": "Find every use first.", "signature": "c2ln"},
                {"type": "text", "text": "I will look for its uses.\n\n```python\nbook.total()\n```"},
                {"type": "tool_use", "id": call, "name": "search", "input": {"pattern": "total"}},
            ],
            model, "tool-use", usage=ev.Usage(1200, 80), turn=turn,
        ),
        ev.ToolInvocation(call, "search", {"pattern": "total"}, "files.search-files", False, turn),
        ev.ToolResult(call, "error", "No matches.", {"code": "none"}, truncated=True, spill="/spill/1.txt", turn=turn),
        ev.Nudge("The JavaScript too, please.", "user", turn),
        ev.Queued("q7", "Then the changelog."),
        ev.QueueRecalled("q7"),
        ev.QueueEdited("q7", "Then the changelog, please."),
        ev.SystemNote("Half of the turn's tokens are used.", "limit"),
        ev.Modification("tool/outline", "a" * 64, "b" * 64, "pass", "agent", "Reads JavaScript as well."),
        ev.Incident("guest-trap", "tool/outline trapped three times.", {"count": 3}),
        ev.Compaction([(2, 9)], "The book module was read.", 8, 52_000),
        ev.BranchOp("commit", True, "c" * 40, "d" * 40, "2 files", turn),
        ev.SettingChanged("mode", "plan"),
        ev.StateChanged("todos", "1", '{"content": "Rename", "status": "open"}'),
        ev.Approval("ap1", "exec", "rm -r build"),
        ev.Question("q1", [{"question": "Both files?", "type": "choice", "options": ["Yes", "No"]}], "Before I go on:"),
        ev.Answer("q1", [{"question": "Both files?", "answer": "Yes"}]),
        ev.ChildStarted(child, "tests", "Write the missing tests for the book module."),
        ev.ChildSettled(child, "done", "Three tests added."),
        ev.Rewind(9),
        ev.Spending("claude-sonnet-4-5", ev.Usage(12_000, 0), "abandoned", turn),
        ev.TurnFinished(turn, "limit", "The turn reached 60 iterations.", 60, 112, ev.Usage(90_000, 4000), 310_000),
    )  # fmt: skip
    for body in bodies:
        log.append(body)
    log.put("weather", {"sky": "clear", "wind": [3, {"unit": "m/s"}]})
    return log
