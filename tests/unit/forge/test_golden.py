"""The golden step: an agent in Python over the golden logs, right, and wrong in the ways that cost a person words."""

from __future__ import annotations

import json

import pytest
from thetis_kernel.errors import GuestError
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.fakes.agent import MODES
from thetis_kernel.forge.fakes.golden import GOLDEN, MAX_ASKED, GoldenHost
from thetis_kernel.forge.steps import golden
from thetis_kernel.protocol.ids import new_session_id, new_turn_id

from tests.support.native_guest import native_guest
from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import FIXTURES, TOOL_MAIN, good, tool


def small_agent(host, turn, change=lambda messages, turn: messages):
    """The fixture's agent, natively, over the host's log; `change` is its bug."""
    with native_guest(FIXTURES / "agent_good", host.imports) as main:
        messages = change(main.messages(), json.loads(turn))
    json.loads(host.imports["llm.complete"](json.dumps({"system": "", "messages": messages})))
    return json.dumps({"stopped_by": "stop", "detail": "", "iterations": 1})


def complaints(change=lambda messages, turn: messages):
    bench = FakeBench(handle_turn=lambda host, turn: small_agent(host, turn, change))
    return [d.message for d in golden.run(Candidate(good("agent")), bench)]


def test_a_right_one_passes_over_every_log_in_every_mode():
    bench = FakeBench(handle_turn=small_agent)
    assert golden.run(Candidate(good("agent")), bench) == []
    turns = [json.loads(arguments[0]) for _, arguments in bench.calls]
    assert len(turns) == len(GOLDEN) * len(MODES)
    assert {turn["mode"]["id"] for turn in turns} == {mode["id"] for mode in MODES}


def drop_results(messages, turn):
    return [message for message in messages if not any(block["type"] == "tool_result" for block in message["content"])]


def only_in(mode, change):
    return lambda messages, turn: change(messages, turn) if turn["mode"]["id"] == mode else messages


@pytest.mark.parametrize("change", [
    lambda messages, turn: [],
    lambda messages, turn: messages[:-1],
    lambda messages, turn: messages[-1:],
    lambda messages, turn: [*messages, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}],
    lambda messages, turn: [{"role": "user", "content": [{"type": "text", "text": ""}]}, *messages],
    drop_results,
    lambda messages, turn: "nothing",
])  # fmt: skip
def test_a_wrong_history_is_told(change):
    [found] = complaints(change)
    assert found.startswith("handle_turn() in mode agent after ")


@pytest.mark.parametrize("mode", [mode["id"] for mode in MODES])
def test_every_mode_counts(mode):
    [found] = complaints(only_in(mode, drop_results))
    assert f"in mode {mode} " in found and "no provider would take" in found


def test_a_persons_words_must_be_there():
    def reworded(messages, turn):
        for message in messages:
            for block in message["content"]:
                if block.get("text") == "Never mind the second one.":
                    block["text"] = "Never mind."
        return messages

    [found] = complaints(reworded)
    assert "after an interrupted conversation" in found and "'Never mind the second one.'" in found


def test_one_that_never_asks_is_told():
    bench = FakeBench(handle_turn=lambda host, turn: "{}")
    [found] = golden.run(Candidate(good("agent")), bench)
    assert "without asking the model" in found.message


def test_one_that_fails_is_told_with_its_place():
    failing = GuestError("no", kind="error", traceback='File "main.py", line 12')
    [found] = golden.run(Candidate(good("agent")), FakeBench(handle_turn=failing))
    assert (found.path, found.line) == ("main.py", 12)


def test_one_that_asks_for_ever_is_told_to_stop():
    host = GoldenHost(next(iter(GOLDEN.values())))
    ends = [json.loads(host.imports["llm.complete"]('{"messages": []}'))["end"] for _ in range(MAX_ASKED + 2)]
    assert ends == ["stop"] * MAX_ASKED + ["cancelled"] * 2


def test_tools_have_no_history():
    bench = FakeBench()
    assert golden.run(Candidate(tool(TOOL_MAIN)), bench) == [] and bench.calls == []


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_log_is_one_a_kernel_could_have_written(name):
    turn = new_turn_id()
    log = GOLDEN[name](new_session_id(), turn)
    seqs = [event["seq"] for event in log.events]
    assert seqs == sorted(set(seqs)) and log.events[0]["kind"] == "session-started"
    assert log.events[-1]["kind"] == "turn-started" and log.events[-1]["body"]["turn"] == turn
    small, after, seen = log.page(0, 1), 0, []
    while not small["end"]:
        seen += small["events"]
        after = small["next"]
        small = log.page(after, 1)
    assert [event["seq"] for event in [*seen, *small["events"]]] == seqs
