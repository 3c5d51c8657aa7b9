"""The turn loop against a scripted host: what it asks, what it runs, and why a turn ends."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.agent_host import AgentHost, Reply, reply, scripted, text, use
from tests.support.history import check

Run = Any


@pytest.fixture(autouse=True)
def every_request_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = AgentHost._complete

    def checked(self: AgentHost, request_json: str) -> str:
        check(json.loads(request_json)["messages"])
        return complete(self, request_json)

    monkeypatch.setattr(AgentHost, "_complete", checked)


def failing(call: dict[str, Any]) -> tuple[str, str]:
    return "error", "no such file"


def test_a_reply_without_calls_ends_the_turn(run: Run) -> None:
    host = AgentHost(scripted(reply(text("hello"))))
    assert run(host, host.start("hi")) == {"stopped_by": "stop", "detail": "", "iterations": 1}
    request = host.requests[0]
    assert request["messages"] == [{"role": "user", "content": [text("hi")]}]
    assert request["max_tokens"] == 4096 and request["record"] is True
    assert {"read", "run"} <= {tool["name"] for tool in request["tools"]}


def test_calls_of_one_reply_go_to_the_host_together_and_their_results_come_back(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "read", path="x"), use("b", "read", path="y")), reply(text("done"))))
    assert run(host, host.start("hi"))["iterations"] == 2
    assert [call["op-args"]["path"] for call in host.calls] == ["x", "y"]
    assert [block["content"] for block in host.requests[1]["messages"][2]["content"]] == ["did read", "did read"]


def test_62_64_requests_begin_with_the_bytes_of_the_request_before(run: Run) -> None:
    host = AgentHost(scripted(*[reply(use(f"c{n}", "read", path=str(n))) for n in range(4)], reply(text("end"))))
    run(host, host.start("hi"))
    host.model = scripted(reply(use("d", "list")), reply(text("end")))
    run(host, host.start("more", "t2"))
    for before, after in zip(host.requests, host.requests[1:], strict=False):
        assert json.dumps([before["system"], before["tools"]]) == json.dumps([after["system"], after["tools"]])
        assert after["messages"][: len(before["messages"])] == before["messages"]


def test_86_the_log_is_read_once_and_then_only_what_is_new(run: Run) -> None:
    host = AgentHost(scripted(*[reply(use(f"c{n}", "read", path=str(n))) for n in range(9)], reply(text("end"))))
    seen: list[int] = []
    read = host._read
    host._read = lambda after, size: (seen.append(after), read(after, size))[1]  # type: ignore[method-assign]
    run(host, host.start("hi"))
    assert seen == sorted(seen) and seen.count(0) == 1


def test_a_log_in_many_pages_is_read_to_its_end(run: Run, agent: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.history, "PAGE_BYTES", 10)
    host = AgentHost(scripted(reply(text("hello"))))
    for n in range(20):
        host.log("user", text=f"message {n}")
    run(host, host.start("last"))
    assert len(host.requests[0]["messages"][0]["content"]) == 21


# -- limits


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"iterations": 3}, "3 model calls"),
        ({"iterations": 99, "tokens": 100}, "100 tokens"),
        ({"iterations": 99, "wall_ms": 90_000}, "1.5 minutes"),
    ],
)
def test_a_limit_ends_the_turn_with_its_reason(run: Run, limits: dict[str, int], says: str) -> None:
    host = AgentHost(lambda request: reply(use(f"c{len(host.requests)}", "read", path="f")))

    def spend(call: dict[str, Any]) -> tuple[str, str]:
        host.tokens += 50 if "tokens" in limits else 0
        host.elapsed_ms += 45_000 if "wall_ms" in limits else 0
        return "ok", "x"

    host.perform = spend
    turn = host.start("hi")
    outcome = run(host, {**turn, "limits": limits})
    assert outcome["stopped_by"] == "limit" and says in outcome["detail"]
    assert len(host.requests) <= 3


def test_a_resumed_turn_goes_on_counting(run: Run) -> None:
    host = AgentHost(scripted(reply(text("done"))))
    turn = host.start("hi")
    for n in range(2):
        host.log("assistant", blocks=[use(f"c{n}", "read", path="f")], model="m1", turn="t1")
        host.log("tool-result", call=f"c{n}", outcome="ok", content="x")
    turn = host.resume(attempt=1, limits={"iterations": 3})
    assert run(host, turn)["iterations"] == 3
    assert run(host, host.resume(attempt=2, limits={"iterations": 3}))["stopped_by"] == "limit"


def test_a_new_turn_counts_from_nothing(run: Run) -> None:
    host = AgentHost(lambda request: reply(text("done")))
    for n in range(5):
        assert run(host, {**host.start("hi", f"t{n}"), "limits": {"iterations": 1}})["stopped_by"] == "stop"


def test_a_reply_cut_in_the_middle_of_a_call_is_told_and_goes_on(run: Run) -> None:
    host = AgentHost(scripted(reply(text("I write"), end="max-tokens"), reply(text("done"))))
    assert run(host, host.start("hi"))["stopped_by"] == "stop"
    said = host.requests[1]["messages"][2]["content"][0]["text"]
    assert "4096 tokens" in said and "smaller steps" in said


def test_whole_calls_of_a_cut_reply_are_run(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "read", path="f"), end="max-tokens"), reply(text("done"))))
    run(host, host.start("hi"))
    assert len(host.calls) == 1


def test_replies_that_are_always_cut_end_the_turn(run: Run) -> None:
    host = AgentHost(lambda request: reply(text("on and on"), end="max-tokens"))
    outcome = run(host, host.start("hi"))
    assert outcome["stopped_by"] == "limit" and "3 times" in outcome["detail"] and len(host.requests) == 3


# -- failures


@pytest.mark.parametrize("end", ["context-overflow", "rate-limited", "overloaded", "transport", "auth", "bad-request"])
def test_54_a_failed_stream_ends_the_turn_with_its_detail(run: Run, end: str) -> None:
    host = AgentHost(scripted(reply(end=end, detail="401 from the provider")))
    assert run(host, host.start("hi")) == {"stopped_by": "model-error", "detail": "401 from the provider", "iterations": 0}
    host.model = scripted(reply(text("half"), end=end))
    outcome = run(host, host.start("again", "t2"))
    assert outcome["stopped_by"] == "model-error" and outcome["detail"]


def test_after_a_failed_stream_the_next_turn_still_makes_a_valid_request(run: Run) -> None:
    host = AgentHost(scripted(reply(text("half"), use("a", "run", command="x"), end="transport")))
    run(host, host.start("hi"))
    host.model = scripted(reply(text("done")))
    assert run(host, host.start("again", "t2"))["stopped_by"] == "stop"
    assert host.calls == []


def test_the_same_failing_call_gets_a_word_and_then_ends_the_turn(run: Run) -> None:
    host = AgentHost(lambda request: reply(use(f"c{len(host.requests)}", "read", path="gone")), failing)
    outcome = run(host, host.start("hi"))
    assert outcome["stopped_by"] == "repeated-failure" and "gone" in outcome["detail"]
    assert len(host.calls) == 4
    notes = [event for event in host.events if event["kind"] == "system-note"]
    assert len(notes) == 1 and notes[0]["body"]["about"] == "repeated-failure" and notes[0]["seq"] > 9
    assert notes[0]["body"]["text"] in host.requests[3]["messages"][-1]["content"][-1]["text"]


def test_a_failure_that_is_different_each_time_is_no_repetition(run: Run) -> None:
    host = AgentHost(lambda request: reply(use(f"c{len(host.requests)}", "read", path=str(len(host.requests)))), failing)
    assert run(host, host.start("hi"))["stopped_by"] == "limit"


def test_failing_tests_between_edits_are_work_not_repetition(run: Run) -> None:
    def model(request: dict[str, Any]) -> Reply:
        n = len(host.requests)
        if n % 2:
            return reply(use(f"c{n}", "run", command="pytest"))
        return reply(use(f"c{n}", "edit", path="f", old_text=str(n), new_text="y"))

    host = AgentHost(model, lambda call: ("error", "1 failed") if call["name"] == "run" else ("ok", "edited"))
    assert run(host, host.start("hi"))["stopped_by"] == "limit"
    assert not [event for event in host.events if event["kind"] == "system-note"]


def test_wrong_arguments_run_nothing_and_are_answered(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "read"), use("b", "nope"), use("c", "read", path="f")), reply(text("ok"))))
    run(host, host.start("hi"))
    assert [call["id"] for call in host.calls] == ["c"]
    results = host.requests[1]["messages"][2]["content"]
    assert "`path`" in results[0]["content"] and results[0]["is_error"] and "'nope'" in results[1]["content"]
    assert "is_error" not in results[2]


def test_wrong_arguments_for_ever_end_the_turn(run: Run) -> None:
    host = AgentHost(lambda request: reply(use(f"c{len(host.requests)}", "read")))
    assert run(host, host.start("hi"))["stopped_by"] == "repeated-failure"


def test_a_read_only_mode_offers_and_runs_nothing_that_changes(run: Run) -> None:
    calls = reply(use("a", "run", command="rm x"), use("b", "write", path="f", contents=""))
    host = AgentHost(scripted(calls, reply(text("ok"))))
    turn = host.start("hi")
    run(host, {**turn, "mode": {"id": "discord", "label": "Discord"}})
    assert host.calls == []
    assert not {"run", "write", "edit"} & {tool["name"] for tool in host.requests[0]["tools"]}


def test_two_calls_under_one_id_run_once(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "read", path="x"), use("b", "list"), use("a", "read", path="y")), reply(text("ok"))))
    run(host, host.start("hi"))
    assert [(call["id"], call["op-args"]) for call in host.calls] == [("a", {"path": "x"}), ("b", {})]


def test_a_declined_request_says_so(run: Run) -> None:
    host = AgentHost(scripted(reply(text("no"), end="refusal")))
    assert run(host, host.start("hi"))["detail"] == "The model declined to answer."


# -- stop and nudges


def test_15_a_stop_before_the_first_request_asks_nothing(run: Run) -> None:
    host = AgentHost(scripted())
    host.cancelled = True
    assert run(host, host.start("hi"))["stopped_by"] == "cancelled"


def test_16_a_stop_during_the_calls_ends_at_once_and_the_next_turn_is_valid(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "run", command="x"), use("b", "run", command="y"))))

    def stopped(call: dict[str, Any]) -> tuple[str, str]:
        host.cancelled = True
        return "cancelled", ""

    host.perform = stopped
    assert run(host, host.start("hi"))["stopped_by"] == "cancelled"
    assert len(host.calls) == 1
    host.cancelled, host.model = False, scripted(reply(text("done")))
    assert run(host, host.start("again", "t2"))["stopped_by"] == "stop"
    assert all(block["is_error"] for block in host.requests[1]["messages"][2]["content"][:2])


def test_12_a_stop_during_the_stream_leaves_a_marked_partial(run: Run) -> None:
    host = AgentHost(scripted(reply(text("half a"), use("a", "run", command="x"), end="cancelled", detail="Stopped.")))
    assert run(host, host.start("hi"))["stopped_by"] == "cancelled" and host.calls == []
    host.model = scripted(reply(text("done")))
    run(host, host.start("again", "t2"))
    last = host.requests[-1]["messages"][-1]["content"]
    assert last[0]["content"].startswith("Not run") and "cut off" in last[1]["text"] and last[2]["text"] == "again"


def test_what_a_person_says_during_the_turn_reaches_the_next_request(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "read", path="f")), reply(text("done"))))
    host.perform = lambda call: (host.nudge("use tabs"), ("ok", "x"))[1]
    run(host, host.start("hi"))
    assert host.requests[1]["messages"][-1]["content"][-1]["text"].endswith("use tabs")
    assert len(host.requests) == 2


def test_a_late_word_goes_on_with_the_turn(run: Run) -> None:
    def model(request: dict[str, Any]) -> Reply:
        if len(host.requests) == 1:
            host.nudge("and the tests")
        return reply(text(f"answer {len(host.requests)}"))

    host = AgentHost(model)
    assert run(host, host.start("hi"))["iterations"] == 2
    messages = host.requests[1]["messages"]
    assert messages[1]["content"] == [text("answer 1")] and messages[2]["content"][0]["text"].endswith("and the tests")


def test_a_stop_outranks_a_late_word(run: Run) -> None:
    def model(request: dict[str, Any]) -> Reply:
        host.nudge("one more thing")
        host.cancelled = True
        return reply(text("answer"))

    host = AgentHost(model)
    assert run(host, host.start("hi"))["stopped_by"] == "cancelled" and len(host.requests) == 1


# -- the other doors


def test_the_other_exports(agent: SimpleNamespace) -> None:
    from thetis_guest import _bind

    assert agent.main.describe()["name"] == "agent_core"
    assert agent.main.health()["ok"] is True
    _bind.install(AgentHost(scripted()).imports())
    try:
        offered = {mode: {tool["name"] for tool in agent.main.list_tools(mode)} for mode in ("agent", "plan", "odd")}
    finally:
        _bind.install(None)
    selfwork = {"new_tool", "write_code", "patch_code", "remove_code", "roll_back", "update_code"}
    packages = {"add_dependency", "remove_dependency"}
    branch = {"branch_commit", "update_from_trunk", "complete_merge", "abort_merge", "reset_branch"}
    terminals = {f"terminal_{verb}" for verb in ("open", "run", "send", "signal", "close")}
    outside = {f"ssh_host_{verb}" for verb in ("list", "get", "set", "remove", "rename")} | {"set_config"}
    changing = {"edit", "write", "run", "git_clone", "write_skill"} | selfwork | packages | terminals | branch | outside
    assert offered["agent"] - offered["plan"] == changing
    assert {"terminal_read", "terminal_list"} <= offered["plan"] == offered["odd"]
