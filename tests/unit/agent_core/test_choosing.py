"""What a compaction sheds: each rule is a property of any conversation, stated without the agent's own layout."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thetis_kernel.protocol.events import Compaction
from thetis_kernel.store import projection

from tests.support.history import check

ANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
MESSAGES = ("user", "nudge", "answer", "assistant", "tool-result", "system-note", "compaction")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("user", "user", "words", "words", "calls", "calls", "nudged", "note", "state", "answer", "turn")
        ),
        st.integers(1, 3),
        st.sampled_from((1, 40, 400, 4_000)),
    ),
    min_size=1,
    max_size=40,
)
Events = list[dict[str, Any]]


class Log:
    """A conversation in which nothing goes wrong, as the agent reads it."""

    def __init__(self) -> None:
        self.events: Events = []
        self._calls = 0

    def add(self, kind: str, **body: Any) -> None:
        self.events.append({"seq": len(self.events) + 1, "kind": kind, "ts_ms": 0, "body": {"kind": kind, **body}})

    def reply(self, calls: int, size: int, nudged: bool) -> None:
        names = [f"c{self._calls + n}" for n in range(calls)]
        self._calls += calls
        blocks = [{"type": "text", "text": "x" * size}]
        self.add(
            "assistant",
            model="m1",
            blocks=[*blocks, *({"type": "tool_use", "id": n, "name": "read", "input": {}} for n in names)],
        )
        for name in names:
            self.add("tool-invocation", call=name, name="read", args={}, op="files.read-file")
        for at, name in enumerate(names):
            if nudged and at == len(names) - 1:
                self.add("nudge", text="faster", source="user")
            self.add("tool-result", call=name, outcome="ok", content="y" * size)


def conversation(steps: list[tuple[str, int, int]]) -> Events:
    log = Log()
    log.add("session-started")
    log.add("user", text="the task")
    for what, count, size in steps:
        match what:
            case "user":
                log.add("user", text="z" * size)
            case "words":
                log.reply(0, size, False)
            case "calls" | "nudged":
                log.reply(count, size, what == "nudged")
            case "note":
                log.add("system-note", text="noted")
            case "answer":
                log.add("answer", id="q", answers=[{"id": "1", "answer": "yes"}])
            case "state":
                log.add("state-changed", scope="plan", key="x", value='"y"')
            case _:
                log.add("turn-started", turn="t")
    return log.events


class Compacted:
    """What the agent chooses of a conversation, looked at from outside."""

    def __init__(self, agent: SimpleNamespace, events: Events, head: int, tail: int, need: int) -> None:
        self.agent = agent
        self.events = events
        layout = agent.choosing.Layout(events)
        self.eligible = layout.eligible(head, tail)
        self.chosen = layout.oldest(self.eligible, need)
        self.rounds = layout.rounds
        self.spans = layout.spans(self.chosen)

    def hidden(self, event: dict[str, Any]) -> bool:
        return any(first <= event["seq"] <= last for first, last in self.spans)

    def messages(self) -> Events:
        return [event for event in self.events if event["kind"] in MESSAGES]


COMPACTIONS: dict[str, Any] = {
    "steps": STEPS,
    "head": st.integers(0, 6),
    "tail": st.integers(0, 12),
    "need": st.sampled_from((1, 200, 2_000, 10**9)),
}


@given(**COMPACTIONS)
@ANY
def test_the_head_is_kept_verbatim(agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int) -> None:
    found = Compacted(agent, conversation(steps), head, tail, need)
    assert not [event for event in found.messages()[:head] if found.hidden(event)]


@given(**COMPACTIONS)
@ANY
def test_the_tail_is_kept_verbatim(agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int) -> None:
    found = Compacted(agent, conversation(steps), head, tail, need)
    assert not [event for event in found.messages()[len(found.messages()) - tail :] if found.hidden(event)]


@given(**COMPACTIONS)
@ANY
def test_38_what_the_person_said_is_never_summarised(
    agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int
) -> None:
    found = Compacted(agent, conversation(steps), head, tail, need)
    assert not [event for event in found.events if event["kind"] in ("user", "nudge", "answer") and found.hidden(event)]


@given(**COMPACTIONS)
@ANY
def test_14_a_round_is_never_split(agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int) -> None:
    found = Compacted(agent, conversation(steps), head, tail, need)
    for reply in [event for event in found.events if event["kind"] == "assistant"]:
        calls = {block["id"] for block in reply["body"]["blocks"] if block["type"] == "tool_use"}
        parts = [event for event in found.events if event["body"].get("call") in calls]
        assert len({found.hidden(event) for event in [reply, *parts]}) == 1


@given(**COMPACTIONS)
@ANY
def test_no_span_runs_across_what_is_kept(agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int) -> None:
    found = Compacted(agent, conversation(steps), head, tail, need)
    shed = {id(event) for number in found.chosen for event in found.rounds[number].events}
    assert not [event for event in found.messages() if found.hidden(event) and id(event) not in shed]
    assert found.spans == sorted(found.spans) and all(first <= last for first, last in found.spans)
    assert all(before[1] < after[0] for before, after in zip(found.spans, found.spans[1:], strict=False))


@given(**COMPACTIONS)
@ANY
def test_the_oldest_go_first_and_the_walk_stops_at_the_target(
    agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int
) -> None:
    found = Compacted(agent, conversation(steps), head, tail, need)
    sizes = [sum(agent.choosing.tokens(event) for event in found.rounds[number].events) for number in found.eligible]
    assert found.chosen == found.eligible[: len(found.chosen)]
    if found.chosen:
        assert sum(sizes[: len(found.chosen) - 1]) < need, "the last one was not needed"
    if len(found.chosen) < len(found.eligible):
        assert sum(sizes[: len(found.chosen)]) >= need, "it stopped too early"
    firsts = [found.rounds[number].seqs[0] for number in found.eligible]
    assert firsts == sorted(firsts)


@given(**COMPACTIONS)
@ANY
def test_48_any_compaction_of_any_log_is_a_valid_request(
    agent: SimpleNamespace, steps: Any, head: int, tail: int, need: int
) -> None:
    events = conversation(steps)
    before = [dict(event) for event in events]
    found = Compacted(agent, events, head, tail, need)
    last = len(events) + 1
    record = Compaction(found.spans, "what was done")
    shown = projection.project(last, [(last, record)])
    logged = {
        "seq": last,
        "kind": "compaction",
        "body": {"spans": [list(span) for span in found.spans], "summary": "what was done"},
    }
    read = [event for event in [*events, logged] if projection.on(shown, event["seq"])]
    check(agent.project.project(read, "m1"))
    assert events == before, "a compaction names spans; it edits nothing"


def test_only_the_middle_is_eligible(agent: SimpleNamespace) -> None:
    events = conversation([("calls", 1, 40)] * 6)
    found = Compacted(agent, events, 4, 4, 10**9)
    shed = [event["seq"] for event in found.messages() if found.hidden(event)]
    assert shed == [event["seq"] for event in found.messages()[5:-4]]


def test_results_go_with_their_call_though_a_summary_stands_between(agent: SimpleNamespace) -> None:
    """A rewritten agent may have recorded a span that ended within a round."""
    events = conversation([("calls", 3, 400), ("words", 1, 400), ("words", 1, 40)])
    [first, *others] = [event["seq"] for event in events if event["kind"] == "tool-result"]
    last = len(events) + 1
    events = [event for event in events if event["seq"] != first]
    events.append({"seq": last, "kind": "compaction", "body": {"spans": [[first, first]], "summary": "wrong"}})
    found = Compacted(agent, events, 0, 2, 1)
    assert {event["seq"] for event in found.events if found.hidden(event)} >= set(others)


def test_an_earlier_summary_is_summed_up_with_what_follows_it(agent: SimpleNamespace) -> None:
    events = conversation([("words", 1, 400)] * 8)
    last = len(events) + 1
    events = [event for event in events if not 4 <= event["seq"] <= 6]
    events.append({"seq": last, "kind": "compaction", "body": {"spans": [[4, 6]], "summary": "s" * 4_000}})
    found = Compacted(agent, events, 2, 2, 1_200)
    assert found.spans[0][0] == 4 and found.spans[0][1] > 6
    later = Compaction(found.spans, "both")
    shown = projection.project(last + 1, [(last, Compaction([(4, 6)], "s")), (last + 1, later)])
    assert not projection.on(shown, last) and projection.on(shown, last + 1)
