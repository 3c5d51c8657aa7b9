"""Makes and describes golden logs: `python -m tests.support.golden v1` writes a new pair into tests/fixtures/store."""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from thetis_kernel.clock import FakeClock
from thetis_kernel.protocol.events import (
    Answer,
    Approval,
    Assistant,
    BlobRef,
    Body,
    BranchOp,
    ChildSettled,
    ChildStarted,
    Compaction,
    Event,
    Incident,
    Modification,
    Nudge,
    Question,
    Rewind,
    SessionStarted,
    SettingChanged,
    StateChanged,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    Unknown,
    Usage,
    User,
)
from thetis_kernel.store.store import Store

FIXTURES = Path(__file__).parents[1] / "fixtures" / "store"
ONE, FORK, CHILD = "0123456789abcdef", "1123456789abcdef", "2123456789abcdef"


def describe(store: Store) -> dict[str, Any]:
    """All a log says, as plain JSON values: its list, its events, its projections and folds."""
    rows = store.sessions()
    said = {
        "rows": rows,
        "events": {row.id: [_said(event) for event in store.read(row.id, max_bytes=1 << 30)] for row in rows},
        "projected": {row.id: [event.seq for event in store.read_projected(row.id)[0]] for row in rows},
        "states": {row.id: store.state(row.id) for row in rows},
        "found": [hit.seq for hit in store.search("parser", limit=500)],
    }
    return msgspec.json.decode(msgspec.json.encode(said))  # type: ignore[no-any-return]


def fill(store: Store, clock: FakeClock) -> None:
    """A log with every kind of event, a fork, a child, a rewind, a compaction, an unknown kind, more than one run."""
    base = {"root": "/r", "mode": "agent", "model": "m", "branch": "conv/01234567", "trunk": "main", "base": "0" * 40}
    store.create(ONE, SessionStarted(origin="tui", **base))
    call = {"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "é.py", "n": [1, 2.5, None, {"a": True}]}}
    bodies: list[Body | Unknown] = [
        User("fix the parser", author="me", with_changes=True), TurnStarted("t1", "agent", "m"),
        BranchOp("materialised", True, after="a" * 40, data={"files": 3}),
        Assistant([{"type": "text", "text": "looking"}, call], "m", "tool-use", usage=Usage(10, 5, 3, 1), turn="t1"),
        ToolInvocation("call_1", "read", {"path": "é.py"}, "files.read-file", False, "t1"),
        ToolResult("call_1", "ok", "content of the parser", {"lines": 7}, True, "spill/1", 12, "t1"),
        Nudge("also the tests", turn="t1"), SystemNote("note", "limit"), Incident("x", "something", {"a": 1}),
        Modification("tool/x", "r2", "r1", "pass", "agent", "faster"), StateChanged("plan", "body", '"p"'),
        StateChanged("notes", "k", '{"v":1}'), StateChanged("kv:tool", "k", "1"), Approval("a1", "exec", "rm -r x"),
        Approval("a1", "exec", "rm -r x", "allow-once", "me"), ChildStarted(CHILD, "helper", "do it", "fast"),
        ChildSettled(CHILD, "done", "did it"), Question("q1", [{"question": "which?"}], "intro"),
        Answer("q1", [{"answer": "that"}]), Assistant([{"type": "text", "text": "done 🙂"}], partial=True, turn="t1"),
        TurnFinished("t1", "stop", "", 2, 1, Usage(20, 10, estimated=True), 900),
        Unknown("from-the-future", b'{"kind":"from-the-future", "n": 1}'), SettingChanged("title", "The parser"),
    ]  # fmt: skip
    for number, body in enumerate(bodies):
        clock.advance(1)
        store.append(ONE, body, event_id=f"one-{number}").result(10)
    store.append_many(ONE, [(User(f"parser filler {i}"), f"filler-{i}") for i in range(140)]).result(10)
    store.append(ONE, Compaction([(30, 60), (70, 75)], "what was said", 36, 1000), event_id="compaction").result(10)
    clock.advance(1)
    store.create(FORK, SessionStarted(origin="headless", parent=ONE, parent_seq=40, relation="fork", **base))
    store.append_many(FORK, [(User("another way"), "f1"), (Rewind(20, "tree"), "f2"), (User("third way"), "f3")]).result(10)
    clock.advance(1)
    store.create(CHILD, SessionStarted(origin="child", parent=ONE, relation="child", **base))
    store.append(CHILD, User("look", [BlobRef(store.blobs.put(b"x").digest, 1, "text/plain", "x.txt")]), event_id="c1").result(10)


def make(name: str) -> None:
    """Write the pair `name`, unless it is there already."""
    if (FIXTURES / f"{name}.json").exists():
        raise SystemExit(f"{name} exists, and a released log is never changed")
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "data"
        store = Store.open(data, clock=clock, free=lambda: 0)
        fill(store, clock)
        said = describe(store)
        store.close()
        FIXTURES.mkdir(parents=True, exist_ok=True)
        (FIXTURES / f"{name}.db.gz").write_bytes(gzip.compress((data / "thetis.db").read_bytes(), 9, mtime=0))
    (FIXTURES / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(said), indent=1) + b"\n")


def _said(event: Event) -> dict[str, Any]:
    """An event with its body as text, byte for byte."""
    return msgspec.structs.asdict(event) | {"raw": event.raw.decode()}


if __name__ == "__main__":
    make(sys.argv[1])
