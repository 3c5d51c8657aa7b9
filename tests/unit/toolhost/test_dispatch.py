"""A reply's calls: logged before and after, one result each, in order, in parallel where nothing changes."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import ToolInvocation, ToolResult
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.toolhost.bounds import MAX_CONTENT
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.dispatch import MAX_CALLS, direct, invoke_many

from tests.support.turns import turn_context


def run(context: TurnContext, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    return invoke_many(context, json.dumps(list(calls)))


def call(n: int, op: str, **arguments: Any) -> dict[str, Any]:
    return {"id": f"c{n}", "name": op.split(".")[-1], "args": arguments, "op": op, "op-args": arguments}


def test_each_call_has_one_invocation_then_one_result(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    results = run(context, call(1, "files.write-file", path="a.txt", contents="A"), call(2, "files.read-file", path="a.txt"),
                  call(3, "files.read-file", path="missing"), call(4, "no.such-op"))
    assert [r["id"] for r in results] == ["c1", "c2", "c3", "c4"]
    assert [r["outcome"] for r in results] == ["ok", "ok", "error", "error"]
    assert json.loads(results[1]["content"])["text"] == "A"
    bodies = context.journal.bodies
    assert [b.call for b in bodies if isinstance(b, ToolInvocation)] == ["c1", "c2", "c3", "c4"]
    for name in ("c1", "c2", "c3", "c4"):
        kinds = [type(b) for b in bodies if getattr(b, "call", "") == name]
        assert kinds == [ToolInvocation, ToolResult]


def test_the_intent_is_logged_before_the_effect(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    seen: list[bool] = []
    append = context.journal.append

    def watching(body: Any) -> int:
        if isinstance(body, ToolInvocation):
            seen.append((tmp_path / "wt" / "a.txt").exists())
        return append(body)

    context.journal.append = watching  # type: ignore[method-assign]
    run(context, call(1, "files.write-file", path="a.txt", contents="A"))
    assert seen == [False]


def test_reading_calls_overlap_and_a_change_stands_alone(tmp_path: Path) -> None:
    guests = {name: GuestBundle(aspect=f"tool/{name}", key=name, bundle="", describes=json.dumps({"mutating": mutating}))
              for name, mutating in (("look", False), ("change", True))}
    context = turn_context(tmp_path, guests=guests)
    together = threading.Barrier(2, timeout=10)
    running: list[str] = []
    alone: list[bool] = []

    def call_guest(name: str, call_id: str, arguments: dict[str, Any]) -> str:
        if name == "look":
            together.wait()  # passes only when both reads run at once
        else:
            alone.append(not running)
        return name

    context.call_guest = call_guest
    results = run(context, call(1, "tool:look"), call(2, "tool:look"), call(3, "tool:change"), call(4, "tool:look"),
                  call(5, "tool:look"))
    assert [r["content"] for r in results] == ["look", "look", "change", "look", "look"] and alone == [True]


def test_results_come_in_call_order_whichever_ends_first(tmp_path: Path) -> None:
    guests = {"look": GuestBundle(aspect="tool/look", key="look", bundle="", describes='{"mutating": false}')}
    context = turn_context(tmp_path, guests=guests)
    ended = [threading.Event() for _ in range(6)]
    ended[5].set()

    def call_guest(name: str, call_id: str, arguments: dict[str, Any]) -> str:
        number = arguments["place"]
        assert ended[number + 1].wait(10), "the one behind it ends first"
        return f"look {number}"

    append = context.journal.append

    def noted(body: Any) -> int:
        seq = append(body)
        if isinstance(body, ToolResult):
            ended[int(body.content.split()[1])].set()
        return seq

    context.call_guest = call_guest
    context.journal.append = noted  # type: ignore[method-assign]
    results = run(context, *(call(n, "tool:look", place=n) for n in range(5)))
    assert [r["content"] for r in results] == [f"look {n}" for n in range(5)]
    logged = [body.content for body in context.journal.bodies if isinstance(body, ToolResult)]  # type: ignore[attr-defined]
    assert logged == [f"look {n}" for n in reversed(range(5))], "it was the order they ended in"


def test_a_stop_answers_what_has_not_run(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    context.cancelled.set()
    results = run(context, call(1, "files.write-file", path="a.txt", contents="A"), call(2, "terminal.run", command="true"),
                  call(3, "files.list-dir", path="."))
    assert [r["outcome"] for r in results] == ["cancelled", "cancelled", "cancelled"]
    assert not (tmp_path / "wt" / "a.txt").exists() and context.commands.asked == []


def test_a_tool_that_says_nothing_of_itself_is_mutating(tmp_path: Path) -> None:
    context = turn_context(tmp_path, read_only=True, guests={"shy": GuestBundle(aspect="tool/shy", key="", bundle="")})
    context.call_guest = lambda *_: "ran"
    assert run(context, call(1, "tool:shy"))[0]["outcome"] == "refused"


def test_whatever_a_handler_raises_there_is_a_result(tmp_path: Path) -> None:
    context = turn_context(tmp_path, guests={"t": GuestBundle(aspect="tool/t", key="", bundle="")})

    def broken(*_: Any) -> str:
        raise ZeroDivisionError("secret detail")

    context.call_guest = broken
    result = run(context, call(1, "tool:t"))[0]
    assert result["outcome"] == "error" and "secret" not in result["content"]
    assert sum(isinstance(b, ToolResult) for b in context.journal.bodies) == 1


def test_long_results_are_cut_and_kept_whole_in_the_spill(tmp_path: Path) -> None:
    context = turn_context(tmp_path, guests={"t": GuestBundle(aspect="tool/t", key="", bundle="")})
    context.call_guest = lambda *_: "é" * MAX_CONTENT
    result = run(context, call(1, "tool:t"))[0]
    stored = context.journal.bodies[-1]
    assert isinstance(stored, ToolResult) and stored.truncated and stored.spill == "/spill/c1.txt"
    assert len(result["content"].encode()) <= MAX_CONTENT + 100 and "left out" in result["content"]
    assert (tmp_path / "spill" / "c1.txt").read_text() == "é" * MAX_CONTENT
    assert context.tree.read_bytes(stored.spill, 1 << 20).decode() == "é" * MAX_CONTENT


def test_too_many_calls_still_have_results(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    results = run(context, *[call(n, "notes.recall") for n in range(MAX_CALLS + 3)])
    assert [r["outcome"] for r in results] == ["ok"] * MAX_CALLS + ["error"] * 3


def test_one_id_twice_is_refused_whole(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    with pytest.raises(ThetisError, match="an id of its own"):
        run(context, call(1, "notes.recall"), call(1, "notes.recall"))
    assert context.journal.bodies == []


def test_a_failed_command_is_an_error_with_its_facts(tmp_path: Path) -> None:
    context = turn_context(tmp_path, exit=3, output="boom")
    result = run(context, call(1, "terminal.run", command="false"))[0]
    assert (result["outcome"], result["data"]["exit"]) == ("error", 3)
    assert context.live == [("c1", "live")]


def test_direct_effects_of_the_agent_are_logged_as_its_own(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    direct(context, "files.write-file", {"path": "a", "contents": "b"})
    first, last = context.journal.bodies
    assert isinstance(first, ToolInvocation) and first.origin == "agent" and isinstance(last, ToolResult)


def test_notes_are_events(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    run(context, call(1, "notes.remember", key="build", content="make all"))
    assert json.loads(run(context, call(2, "notes.recall"))[0]["content"])["notes"][0]["content"] == "make all"
    run(context, call(3, "notes.remember", key="build", content=""))
    assert run(context, call(4, "notes.recall", key="build"))[0]["outcome"] == "error"
    assert run(context, call(5, "notes.remember", key="../x", content="y"))[0]["outcome"] == "error"
