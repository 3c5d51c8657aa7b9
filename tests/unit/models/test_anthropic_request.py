"""What is sent: the body, the cache marks, and thinking for those who can."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from thetis_kernel.models.anthropic.marks import LOOK_BACK, positions
from thetis_kernel.models.anthropic.request import body
from thetis_kernel.models.thinking import THINKING, without_thinking

from tests.support.providers import MODEL, REQUEST, said

MARK = {"type": "ephemeral"}
TEXT = {"type": "text", "text": "x"}
THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}
CALL = {"type": "tool_use", "id": "c", "name": "list", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "ok"}


def marks(told: dict[str, Any]) -> int:
    return str(told).count("cache_control")


def test_the_body() -> None:
    told = body(REQUEST, MODEL)
    assert told == {
        "model": "wire-sonnet", "max_tokens": 4096, "stream": True, "thinking": {"type": "adaptive"}, "tools": REQUEST.tools,
        "system": [{"type": "text", "text": "You help.", "cache_control": MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]}],
    }


def test_an_endpoint_without_cache_control_or_thinking_gets_neither() -> None:
    history = [said("a"), {"role": "assistant", "content": [THOUGHT, TEXT]}, said("b")]
    told = body(msgspec.structs.replace(REQUEST, messages=history), msgspec.structs.replace(MODEL, cache=False, thinking="none"))
    assert marks(told) == 0 and "thinking" not in told and told["system"] == "You help."
    assert told["messages"][1]["content"] == [TEXT]


def test_a_thinking_budget_leaves_room_for_the_reply_and_is_left_out_where_it_would_be_refused() -> None:
    budget = msgspec.structs.replace(MODEL, thinking="budget", thinking_budget=8000)
    assert body(REQUEST, budget)["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "thinking" not in body(msgspec.structs.replace(REQUEST, max_tokens=1500), budget)
    for first, thinks in ((THOUGHT, True), (TEXT, False)):
        history = [said("a"), {"role": "assistant", "content": [first, CALL]}, {"role": "user", "content": [RESULT]}]
        assert ("thinking" in body(msgspec.structs.replace(REQUEST, messages=history), budget)) is thinks


def test_a_reply_of_thinking_alone_is_not_emptied() -> None:
    assert without_thinking([{"role": "assistant", "content": [THOUGHT]}]) == [{"role": "assistant", "content": [THOUGHT]}]


BLOCKS = st.lists(st.sampled_from([TEXT, THOUGHT, CALL, RESULT]), min_size=1, max_size=40)
HISTORIES = st.lists(BLOCKS, min_size=1, max_size=12).map(
    lambda rounds: [{"role": "user", "content": [*map(dict, blocks), dict(TEXT)]} for blocks in rounds])


@given(HISTORIES)
def test_marks_are_few_never_on_thinking_and_leave_the_history_as_it_is(history: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(history)
    told = body(msgspec.structs.replace(REQUEST, messages=history), MODEL)
    assert history == before and 2 <= marks(told) <= 4
    assert "cache_control" in told["messages"][-1]["content"][-1]
    unmarked = [{**m, "content": [{k: v for k, v in b.items() if k != "cache_control"} for b in m["content"]]}
                for m in told["messages"]]
    assert unmarked == before
    assert not any("cache_control" in b and b["type"] in THINKING for m in told["messages"] for b in m["content"])
    assert msgspec.json.encode(told) == msgspec.json.encode(body(msgspec.structs.replace(REQUEST, messages=before), MODEL))


@example([said("a")], [CALL] * (LOOK_BACK + 1))  # a round of many calls, which random lists seldom are
@given(HISTORIES, st.lists(st.sampled_from([TEXT, CALL, RESULT]), min_size=1, max_size=LOOK_BACK + 20))
def test_the_next_request_finds_what_this_one_stored(history: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    """However the history grows by up to 40 blocks, some mark is at most LOOK_BACK blocks behind the end of the last one."""
    grown = [*history, {"role": "assistant", "content": [dict(block) for block in more]}]
    flat = [(m, b) for m, message in enumerate(grown) for b in range(len(message["content"]))]
    stored = flat.index(positions(history)[-1])
    assert any(0 <= flat.index(mark) - stored <= LOOK_BACK for mark in positions(grown))
