"""Repairs: a log cut at any event can be gone on from, and asking twice asks for nothing more."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Event,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    Usage,
    User,
)
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.store import recovery
from thetis_kernel.store.recovery import repairs

from tests.support.logs import bodies, call, events, reply, result, started

wild = st.lists(bodies, max_size=25).map(lambda some: [started(), *some])


@st.composite
def lives(draw: st.DrawFn) -> list[Body]:
    """Whole turns as they are really written, unique ids throughout, with replies that ask for several calls."""
    log: list[Body] = [started()]
    ids = iter(range(1000))
    for turn in range(draw(st.integers(1, 3))):
        name = f"t{turn}"
        log += [User(text="go"), TurnStarted(name, "agent", "m")]
        for _ in range(draw(st.integers(0, 3))):
            calls = [f"c{next(ids)}" for _ in range(draw(st.integers(0, 3)))]
            log.append(reply("text", *calls, turn=name))
            log += [call(c, name) for c in calls]
            log += [result(c, name) for c in draw(st.permutations(calls))]
        log.append(TurnFinished(name, "stop"))
    return log


def owed_nothing(log: list[Event]) -> None:
    """One result an invocation, an answer to every call a reply asked for, an end to every turn, in that order."""
    invocations = Counter(e.body.call for e in log if isinstance(e.body, ToolInvocation))
    results = Counter(e.body.call for e in log if isinstance(e.body, ToolResult))
    for name, count in invocations.items():
        assert results[name] >= count
    for event in log:
        if isinstance(event.body, Assistant):
            for block in event.body.blocks:
                assert block.get("type") != "tool_use" or results[block["id"]] >= 1
    open_turns: set[str] = set()
    for event in log:
        if isinstance(event.body, TurnStarted):
            open_turns.add(event.body.turn)
        elif isinstance(event.body, TurnFinished):
            open_turns.discard(event.body.turn)
    assert not open_turns


@given(lives(), st.data())
def test_a_life_cut_anywhere_ends_with_exactly_one_of_each(life, data):
    cut = life[: data.draw(st.integers(1, len(life)))]
    whole = events(*cut, *repairs(events(*cut)))
    owed_nothing(whole)
    invocations = [e.body.call for e in whole if isinstance(e.body, ToolInvocation)]
    results = [e.body.call for e in whole if isinstance(e.body, ToolResult)]
    assert len(set(results)) == len(results), "never two results for a call"
    assert set(invocations) <= set(results)
    finished = [e.body.turn for e in whole if isinstance(e.body, TurnFinished)]
    assert finished == [e.body.turn for e in whole if isinstance(e.body, TurnStarted)], "one end for each turn"
    assert repairs(whole) == []


@given(wild)
def test_any_log_is_repaired_once(log):
    whole = events(*log, *repairs(events(*log)))
    owed_nothing(whole)
    assert repairs(whole) == []


def test_a_whole_log_needs_nothing():
    log = [started(), User(text="x"), TurnStarted("t", "a", "m"), reply("", "c", turn="t"), call("c", "t"), result("c", "t"),
           reply("done", turn="t"), TurnFinished("t", "stop")]  # fmt: skip
    assert repairs(events(*log)) == []
    assert repairs([]) == []


def test_what_ran_is_interrupted_and_what_did_not_is_cancelled():
    log = [started(), TurnStarted("t", "a", "m"), reply("", "c1", "c2", "c3", turn="t"), call("c1", "t"), result("c1", "t"),
           call("c2", "t")]  # fmt: skip
    ran, not_run, note, end = repairs(events(*log))
    assert ran == ToolResult("c2", "interrupted", recovery.UNKNOWN_OUTCOME, turn="t")
    assert not_run == ToolResult("c3", "cancelled", recovery.NOT_RUN, turn="t")
    assert isinstance(note, SystemNote) and note.about == "restart"
    assert end == TurnFinished("t", "restarted", recovery.DETAIL, iterations=1, tool_calls=2, usage=Usage(10, 2),
                               spent=Spent(1, 10, 2, unpriced=12))


def test_a_turn_resumed_and_cut_again_ends_again():
    log = [started(), TurnStarted("t", "a", "m"), TurnFinished("t", "restarted"), TurnStarted("t", "a", "m", 1)]
    assert [type(body) for body in repairs(events(*log))] == [SystemNote, TurnFinished]


def test_one_call_id_used_twice_gets_two_results():
    log = [started(), call("c"), result("c"), call("c")]
    owed = repairs(events(*log))
    assert [body.call for body in owed if isinstance(body, ToolResult)] == ["c"]


def test_a_call_outside_any_turn_is_closed_too():
    owed = repairs(events(started(), call("c", "")))
    assert [type(body) for body in owed] == [ToolResult, SystemNote]


def test_strange_blocks_are_no_calls():
    blocks = [{"type": "tool_use"}, {"type": "tool_use", "id": 7}, {"type": "tool_use", "id": ""}, {"id": "x"}, {}]
    assert repairs(events(started(), Assistant(blocks=blocks))) == []


def test_an_unreadable_event_owes_nothing():
    assert repairs([Event("0" * 16, 1, "e", 0, "tool-invocation", 1, b"{}")]) == []
