"""When the agent compacts, what it asks of a model for it, and that it gets somewhere whatever that model does.

Numbers are those of the reports of users of such tools (class 3).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.agent_host import AgentHost, Reply, reply, text, use
from tests.support.history import check

Run = Any
BIG = "word " * 2_000
"""About 2,500 tokens."""
CONTEXT = {"threshold_percent": 60, "target_percent": 25, "keep_head": 2, "keep_tail": 4}


def grown(host: AgentHost, rounds: int = 8, size: str = BIG) -> None:
    """A conversation with a person's words at both ends and long results between them."""
    host.log("user", text="the task: never touch main")
    for n in range(rounds):
        host.log(
            "assistant",
            blocks=[text(f"step {n}"), use(f"old{n}", "read", path=f"{n}.txt")],
            model="m1",
            end="tool-use",
            seen=0,
        )
        host.log("tool-invocation", call=f"old{n}", name="read", args={"path": f"{n}.txt"}, op="files.read-file")
        host.log("tool-result", call=f"old{n}", outcome="ok", content=size)
    host.log("assistant", blocks=[text("there")], model="m1", end="stop", seen=0)
    host.log("turn-finished", turn="t0", stopped_by="stop")


def summary(request: dict[str, Any]) -> bool:
    return request.get("purpose") == "summary"


def host_with(
    model: Callable[[dict[str, Any]], Reply], **context: Any
) -> tuple[AgentHost, Callable[..., dict[str, Any]]]:
    """A host whose model answers by a function, and what begins a turn in a window of 40,000 tokens."""
    host = AgentHost(model)

    def begin(words: str = "go on", **more: Any) -> dict[str, Any]:
        turn = host.start(words)
        return {
            **turn,
            "model": {"id": "m1", "window": 40_000, "max_output": 1_000},
            "context": {**CONTEXT, **context},
            **more,
        }

    return host, begin


def ordinary(request: dict[str, Any]) -> Reply:
    return reply(text("Progress: read some files.")) if summary(request) else reply(text("done"))


def compactions(host: AgentHost) -> list[dict[str, Any]]:
    return [event["body"] for event in host.events if event["kind"] == "compaction"]


def asked(host: AgentHost, summaries: bool = False) -> list[dict[str, Any]]:
    return [request for request in host.requests if summary(request) == summaries]


def size(request: dict[str, Any]) -> int:
    return len(json.dumps(request["messages"]))


@pytest.fixture(autouse=True)
def every_request_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = AgentHost._complete

    def checked(self: AgentHost, request_json: str) -> str:
        check(json.loads(request_json)["messages"])
        return complete(self, request_json)

    monkeypatch.setattr(AgentHost, "_complete", checked)


# -- when


def test_a_long_conversation_is_compacted_before_the_request(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host)
    assert run(host, begin())["stopped_by"] == "stop"
    [body] = compactions(host)
    assert body["how"] == "summary" and body["why"] == "threshold" and body["replaced"] >= 2
    [request] = asked(host)
    assert size(request) < 60_000 and "Progress: read some files." in json.dumps(request)
    assert body["tokens_after"] < body["tokens_before"]


def test_a_short_one_is_not(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host, rounds=1)
    run(host, begin())
    assert compactions(host) == [] and len(host.requests) == 1


def test_it_can_be_switched_off(run: Run) -> None:
    host, begin = host_with(ordinary, enabled=False)
    grown(host)
    run(host, begin())
    assert compactions(host) == []


def test_12_it_is_looked_at_before_every_completion_of_a_turn(run: Run) -> None:
    """Lesson 12: one long turn grows past the window by itself."""
    steps = iter(range(9))

    def model(request: dict[str, Any]) -> Reply:
        at = None if summary(request) else next(steps)
        return ordinary(request) if at is None or at == 8 else reply(use(f"n{at}", "read", path="x"))

    host, begin = host_with(model)
    host.perform = lambda call: ("ok", BIG)
    run(host, begin("read it all"))
    assert compactions(host) and max(map(size, asked(host))) < 80_000


def test_the_providers_own_count_decides_when_there_is_one(run: Run) -> None:
    """Tokens are counted by the provider; characters only stand in for what came since."""
    host, begin = host_with(ordinary)
    grown(host, rounds=8, size="short " * 300)
    replies = [event for event in host.events if event["kind"] == "assistant"]
    replies[-1]["body"].update(usage={"input": 22_000, "cache_read": 3_000, "output": 10}, seen=replies[-1]["seq"] - 1)
    run(host, begin())
    assert compactions(host)


# -- what stays


def test_38_the_persons_last_words_stay_verbatim_and_last(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host)
    run(host, begin("now only the docs"))
    last = asked(host)[0]["messages"][-1]
    assert last["role"] == "user" and last["content"][-1] == text("now only the docs")
    assert "the task: never touch main" in json.dumps(asked(host)[0]["messages"][0])


def test_37_rules_of_the_project_are_in_the_system_prompt_before_and_after(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host)
    turn = begin()
    turn["root"] |= {"project_rules": "Tests first.", "project_rules_file": "AGENTS.md"}
    run(host, turn)
    assert compactions(host) and "Tests first." in asked(host)[0]["system"]


def test_44_45_46_what_is_not_a_message_is_told_anew(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host, rounds=10)
    told = {
        "seq": len(host.events),
        "values": {
            "plan": {"document": json.dumps({"title": "Move", "body": "1. build the ark", "revision": 2})},
            "todos": {"list": json.dumps([{"id": "1", "content": "saw planks", "status": "in_progress"}])},
            "groups": {"shell": json.dumps({"why": "search"})},
        },
        "children": [{"child": "c9", "label": "scout"}],
    }
    run(host, begin(state=told, mode={"id": "plan", "label": "Plan", "read_only": True}))
    seen = json.dumps(asked(host)[0]["messages"])
    for words in ("Mode: Plan", "build the ark", "[>] 1. saw planks", "scout (c9)", "do not start them again", "shell"):
        assert words in seen, words


def test_a_sub_agent_that_settles_in_the_turn_is_not_told_as_living(run: Run, agent: SimpleNamespace) -> None:
    state = agent.state.State(
        {"state": {"seq": 3, "children": [{"child": "c1", "label": "a"}, {"child": "c2", "label": "b"}]}}
    )
    state.feed({"seq": 4, "kind": "child-settled", "body": {"child": "c1"}})
    state.feed({"seq": 3, "kind": "child-settled", "body": {"child": "c2"}})  # the host's account holds it already
    assert "a (c1)" not in state.restated() and "b (c2)" in state.restated()


def test_49_pictures_do_not_go_to_the_summary(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host)
    picture = {"digest": "0" * 64, "size": 9, "media_type": "image/png", "name": "shot.png"}
    for event in host.events:
        if event["kind"] == "tool-result":
            event["body"]["attachments"] = [picture]
    run(host, begin())
    [request] = asked(host, summaries=True)
    assert {block["type"] for message in request["messages"] for block in message["content"]} == {"text"}
    assert "shot.png" in json.dumps(request) and request["tools"] == []


def test_50_words_said_while_it_compacts_are_answered(run: Run) -> None:
    said: list[bool] = []

    def model(request: dict[str, Any]) -> Reply:
        if summary(request) and not said:
            said.append(True)
            host.nudge("and mind the tests")
        return ordinary(request)

    host, begin = host_with(model)
    grown(host)
    run(host, begin())
    assert said and "and mind the tests" in json.dumps(asked(host)[-1]["messages"])


# -- it always gets somewhere


def test_40_a_summary_that_was_too_long_is_asked_for_again_with_less(run: Run) -> None:
    tries: list[int] = []

    def model(request: dict[str, Any]) -> Reply:
        if not summary(request):
            return ordinary(request)
        tries.append(size(request))
        return reply(end="context-overflow") if len(tries) < 3 else ordinary(request)

    host, begin = host_with(model)
    grown(host)
    run(host, begin())
    assert len(tries) == 3 and tries[0] > tries[1] > tries[2]
    assert compactions(host)[0]["how"] == "summary"


@pytest.mark.parametrize(
    "end", ["context-overflow", "rate-limited", "overloaded", "transport", "auth", "bad-request", "refusal", ""]
)
def test_whatever_the_summary_fails_by_the_conversation_gets_smaller(run: Run, end: str) -> None:
    def model(request: dict[str, Any]) -> Reply:
        return reply(end=end or "stop") if summary(request) else ordinary(request)

    host, begin = host_with(model)
    grown(host)
    assert run(host, begin())["stopped_by"] == "stop"
    [body] = compactions(host)
    assert body["how"] == "shed" and "calls read" in body["summary"] and body["detail"]
    assert len(asked(host, summaries=True)) == (4 if end == "context-overflow" else 1)
    assert size(asked(host)[0]) < 60_000


def test_a_summary_no_shorter_than_what_it_stands_for_is_not_taken(run: Run) -> None:
    def model(request: dict[str, Any]) -> Reply:
        return reply(text("x" * 200_000)) if summary(request) else ordinary(request)

    host, begin = host_with(model)
    grown(host)
    run(host, begin())
    assert compactions(host) == []


def test_a_stop_while_it_compacts_ends_the_turn(run: Run) -> None:
    def model(request: dict[str, Any]) -> Reply:
        host.cancelled = True
        return reply(end="cancelled")

    host, begin = host_with(model)
    grown(host)
    assert run(host, begin())["stopped_by"] == "cancelled"
    assert compactions(host) == [] and len(host.requests) == 1


@pytest.mark.parametrize("end", ["rate-limited", "overloaded"])
def test_42_being_asked_to_slow_down_is_not_a_full_window(run: Run, end: str) -> None:
    host, begin = host_with(lambda request: reply(end=end))
    grown(host, rounds=3)
    assert run(host, begin())["stopped_by"] == "model-error"
    assert compactions(host) == [] and len(host.requests) == 1


def test_a_full_window_is_compacted_once_and_asked_again(run: Run) -> None:
    ends = iter(["context-overflow", "stop"])

    def model(request: dict[str, Any]) -> Reply:
        return ordinary(request) if summary(request) else reply(text("done"), end=next(ends))

    host, begin = host_with(model)
    grown(host, rounds=4)
    assert run(host, begin())["stopped_by"] == "stop"
    [body] = compactions(host)
    assert body["why"] == "overflow"
    first, second = asked(host)
    assert size(second) < size(first)


def test_40_a_window_that_stays_full_is_not_asked_for_ever(run: Run) -> None:
    host, begin = host_with(lambda request: ordinary(request) if summary(request) else reply(end="context-overflow"))
    grown(host, rounds=16)  # so that there would be something left to shed
    outcome = run(host, begin(model={"id": "m1", "window": 200_000, "max_output": 1_000}))
    assert outcome["stopped_by"] == "model-error" and len(asked(host)) == 2


def test_when_the_middle_is_not_enough_the_tail_gives_way(run: Run) -> None:
    host, begin = host_with(ordinary, keep_tail=200)
    grown(host, rounds=16)
    run(host, begin())
    assert compactions(host) and size(asked(host)[0]) < 76_000


def test_41_rounds_that_are_no_use_back_off_and_say_why(run: Run) -> None:
    """All that fills the window are the person's own words."""
    host, begin = host_with(ordinary)
    host.log("user", text="the task")
    for _ in range(6):
        host.log("user", text=BIG)
        host.log("assistant", blocks=[text("y" * 900)], model="m1", end="stop", seen=0)
    for n in range(12):
        run(host, begin(f"again {n}"))
        host.log("user", text=BIG if n % 2 else "more")
    notes = [event["body"]["text"] for event in host.events if event["body"].get("about") == "compaction"]
    assert len(notes) <= 1 and len(asked(host, summaries=True)) < 8, "a loop of summaries"
    assert json.loads(host.kv["compaction"])["wait"] > 0


def test_13_with_nothing_to_shed_it_waits_until_the_conversation_has_grown(run: Run) -> None:
    """Lesson 13; a person's words alone fill the window."""
    host, begin = host_with(ordinary)
    for _ in range(9):
        host.log("user", text=BIG)
    run(host, begin())
    waits = json.loads(host.kv["compaction"])["wait"]
    assert compactions(host) == [] and waits > 24_000
    reads = host.reads
    run(host, begin("again"))
    assert host.reads - reads <= 4, "the log is not read anew for a compaction that is waited with"


# -- on demand


def test_a_person_can_have_it_done_with_a_hint(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host, rounds=4)
    outcome = run(host, {**begin(), "compact": {"hint": "keep the paths"}})
    assert outcome["stopped_by"] == "stop" and "Compacted" in outcome["detail"]
    assert compactions(host)[0]["why"] == "asked"
    [request] = host.requests
    assert summary(request) and "keep the paths" in json.dumps(request)


def test_nothing_to_compact_is_said(run: Run) -> None:
    host, begin = host_with(ordinary)
    assert "nothing to compact" in run(host, {**begin(), "compact": {"hint": ""}})["detail"]
    assert host.requests == []


def test_asked_for_in_a_running_turn_it_comes_before_the_next_request(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host, rounds=4)
    turn = begin()
    host.log("setting-changed", name="compact", value="keep the paths")
    run(host, turn)
    assert [summary(request) for request in host.requests] == [True, False]
    assert compactions(host)[0]["why"] == "asked"
    run(host, begin("and then"))
    assert len(compactions(host)) == 1, "a wish is carried out once"


def test_a_turn_that_only_compacts_says_nothing_to_the_model(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host, rounds=4)
    host.log("turn-started", turn="tc", mode="agent", model="m1", purpose="compact")
    host.log("turn-finished", turn="tc", stopped_by="stop")
    run(host, begin("go on"))
    assert asked(host)[0]["messages"][-1]["content"] == [text("go on")]


# -- originals


def test_originals_read_as_a_conversation(agent: SimpleNamespace) -> None:
    events = [
        {"seq": 7, "kind": "user", "body": {"text": "look"}},
        {"seq": 8, "kind": "assistant", "body": {"blocks": [text("I look"), use("c", "read", path="a")]}},
        {
            "seq": 9,
            "kind": "tool-invocation",
            "body": {"call": "c", "name": "read", "op": "files.read-file", "args": {}},
        },
        {
            "seq": 10,
            "kind": "tool-result",
            "body": {"call": "c", "outcome": "ok", "content": '{"text":"hi\\n","first":1,"total":1}'},
        },
    ]
    told = agent.formats.result_text(
        "session.recall-span",
        {"first": 7, "last": 20},
        {"outcome": "ok", "content": json.dumps({"events": events, "next": 11})},
    )
    assert "[7] person: look" in told and "[8] calls read" in told and "hi" in told
    assert "recall_span first=11 last=20" in told


# -- a person's wish


def wished(host: AgentHost, *after: tuple[str, dict[str, Any]]) -> None:
    host.log("setting-changed", name="compact", value="keep the colours")
    for kind, body in after:
        host.log(kind, **body)


def test_a_wish_nobody_came_to_is_carried_out_before_the_next_answer(run: Run) -> None:
    host, begin = host_with(ordinary, threshold_percent=95)
    grown(host)
    wished(
        host,
        ("turn-started", {"turn": "c", "purpose": "compact"}),
        ("turn-finished", {"turn": "c", "stopped_by": "restarted"}),
    )
    run(host, begin())
    assert len(compactions(host)) == 1 and "keep the colours" in json.dumps(asked(host, summaries=True))


@pytest.mark.parametrize("how", ["stop", "cancelled"])
def test_a_wish_that_had_its_turn_is_over_whatever_came_of_it(run: Run, how: str) -> None:
    """There was nothing to compact then, or they stopped it; a conversation is not made smaller weeks later for it."""
    host, begin = host_with(ordinary, threshold_percent=95)
    wished(
        host, ("turn-started", {"turn": "c", "purpose": "compact"}), ("turn-finished", {"turn": "c", "stopped_by": how})
    )
    grown(host)
    run(host, begin())
    assert compactions(host) == []


def test_a_wish_said_while_a_turn_gave_its_last_answer_waits_for_the_next(run: Run) -> None:
    host, begin = host_with(ordinary, threshold_percent=95)
    grown(host)
    host.log("turn-started", turn="t1")
    wished(host, ("turn-finished", {"turn": "t1", "stopped_by": "stop"}))
    run(host, begin())
    assert len(compactions(host)) == 1


def test_a_compaction_that_was_cut_keeps_the_persons_hint(run: Run) -> None:
    host, begin = host_with(ordinary)
    grown(host)
    wished(host)
    run(host, {**begin(), "compact": {"hint": ""}})
    assert len(compactions(host)) == 1 and "keep the colours" in json.dumps(asked(host, summaries=True))
    assert asked(host) == []
