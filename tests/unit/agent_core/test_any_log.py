"""Any log makes a valid request: generated logs of every kind, cut anywhere, judged by the Messages API's rules."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.history import check

WORDS = st.sampled_from(["", " ", "\n", "do it", "[system note] no", "``` ```", "ünï 😀\x00"]) | st.text(max_size=12)
CALLS = st.sampled_from(["a", "a", "b", "toolu_1", "", "weird id/é", "x" * 90])
NAMES = st.sampled_from(["read", "run", "edit", "", "no such tool"])
OPS = st.sampled_from(["files.read-file", "terminal.run", "files.edit-file", "tool:outline", "answer", "", "odd"])
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.lists(WORDS, max_size=2),
    st.dictionaries(WORDS, WORDS | st.none(), max_size=2), st.lists(st.dictionaries(WORDS, st.integers(), max_size=1)),
)  # fmt: skip
BLOCK = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, WORDS),
    st.builds(lambda words, sig: {"type": "thinking", "thinking": words, "signature": sig}, WORDS, WORDS),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, WORDS),
    st.builds(lambda i, n, a: {"type": "tool_use", "id": i, "name": n, "input": a}, CALLS, NAMES, JUNK),
    st.builds(lambda kind: {"type": kind}, st.sampled_from(["server_tool_use", "image", "tool_use", "text", "thinking"])),
    JUNK,
)
ENDS = st.sampled_from(["stop", "tool-use", "max-tokens", "refusal", "cancelled", "transport"])
CONTENT = st.one_of(
    WORDS,
    JUNK.map(lambda value: json.dumps(value)),
    st.builds(lambda t, n: json.dumps({"text": t, "first": n, "lines": 1, "total": n}), WORDS, st.integers(-5, 5)),
    st.builds(lambda t: json.dumps({"exit": 0, "output": t})[:-3], WORDS),
    st.builds(lambda m: json.dumps({"code": "x", "message": m, "hint": ""}), WORDS),
)
OUTCOMES = st.sampled_from(["ok", "error", "refused", "interrupted", "cancelled", "new-one"])
TURNS = st.sampled_from(["t1", "t2"])


def body(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields).map(lambda found: {"kind": kind, **found})


def whole(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(fields).map(lambda found: {"kind": kind, **found})


EVENT = st.one_of(
    whole("user", text=WORDS, author=st.sampled_from(["", "", "Ann", "Bo"])),
    whole("user", text=WORDS, attachments=st.lists(JUNK, max_size=2)),
    whole("assistant", blocks=st.lists(BLOCK, max_size=4), model=st.sampled_from(["m1", "m2"]), end=ENDS,
          partial=st.booleans(), detail=WORDS, seen=st.integers(0, 40)),
    whole("tool-invocation", call=CALLS, name=NAMES, args=JUNK, op=OPS, mutating=st.booleans(),
          origin=st.sampled_from(["model", "agent"])),
    whole("tool-result", call=CALLS, outcome=OUTCOMES, content=CONTENT, truncated=st.booleans(), spill=WORDS),
    whole("nudge", text=WORDS, source=st.sampled_from(["user", "system"])),
    whole("system-note", text=WORDS, about=WORDS),
    whole("turn-started", turn=TURNS),
    whole("turn-finished", turn=TURNS, detail=WORDS,
          stopped_by=st.sampled_from(["stop", "cancelled", "limit", "restarted", "model-error"])),
    whole("compaction", summary=WORDS, replaced=st.integers(0, 9),
          spans=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(list) | JUNK, max_size=2)),
    whole("answer", id=WORDS, answers=st.lists(st.dictionaries(WORDS, JUNK, max_size=2), max_size=2)),
    whole("child-started", child=WORDS, label=WORDS, task=WORDS),
    whole("child-settled", child=WORDS, state=st.sampled_from(["done", "failed", "cancelled"]), result=WORDS, label=WORDS),
    body("child-started", child=JUNK, label=JUNK),
    body("child-settled", child=JUNK, result=JUNK),
    body("assistant", blocks=JUNK, end=JUNK, seen=JUNK),
    body("tool-result", call=JUNK, outcome=JUNK, content=JUNK, spill=JUNK),
    body("tool-invocation", call=JUNK, args=JUNK),
    body("turn-finished", stopped_by=JUNK),
    body("compaction", spans=JUNK, summary=JUNK),
    st.sampled_from(["modification", "incident", "branch-op", "state-changed", "rewind", "from-the-future"]).map(
        lambda kind: {"kind": kind, "whatever": 1}
    ),
)  # fmt: skip


@st.composite
def rounds(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A reply with calls and what follows it in any order and number: invocations, results twice or never, words."""
    calls = draw(st.lists(CALLS, min_size=1, max_size=3))
    blocks = [{"type": "tool_use", "id": call, "name": draw(NAMES), "input": {"path": "f"}} for call in calls]
    if draw(st.booleans()):
        blocks.insert(0, {"type": "thinking", "thinking": "hm", "signature": draw(st.sampled_from(["", "sig"]))})
    reply = {"kind": "assistant", "blocks": blocks, "model": "m1", "end": "tool-use", "partial": draw(st.booleans())}
    after: list[dict[str, Any]] = []
    for call in calls:
        ran = {"kind": "tool-invocation", "call": call, "name": "read", "args": {}, "op": draw(OPS), "mutating": False}
        result = {"kind": "tool-result", "call": call, "outcome": draw(OUTCOMES), "content": draw(CONTENT)}
        after += [ran, *[result] * draw(st.integers(0, 2))]
    after += draw(st.lists(EVENT, max_size=2))
    return [reply, *(draw(st.permutations(after)) if draw(st.booleans()) else after)]


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rounds and lone events in any mixture, the beginning and the end cut off anywhere."""
    parts = draw(st.lists(rounds() | EVENT.map(lambda each: [each]), max_size=9))
    bodies = [each for part in parts for each in part]
    first = draw(st.integers(0, 3))
    bodies = bodies[first : len(bodies) - draw(st.integers(0, 3))]
    return [{"seq": n, "kind": each["kind"], "ts_ms": n, "body": each} for n, each in enumerate(bodies, 1)]


ANY_LOG = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@given(log=logs())
@ANY_LOG
def test_every_log_is_a_valid_request(agent: SimpleNamespace, log: list[dict[str, Any]]) -> None:
    check(agent.project.project(log, "m1"))


@pytest.mark.slow
@pytest.mark.timeout(600)
@given(log=logs())
@settings(ANY_LOG, max_examples=5_000)
def test_very_many_logs_are_valid_requests(agent: SimpleNamespace, log: list[dict[str, Any]]) -> None:
    check(agent.project.project(log, "m1"))


@given(log=logs())
@ANY_LOG
def test_a_log_projected_twice_gives_the_same_bytes(agent: SimpleNamespace, log: list[dict[str, Any]]) -> None:
    once, again = agent.project.project(log, "m1"), agent.project.project(json.loads(json.dumps(log)), "m1")
    assert json.dumps(once) == json.dumps(again)


@given(log=logs())
@ANY_LOG
def test_every_word_of_a_person_is_there_verbatim_and_in_order(agent: SimpleNamespace, log: list[dict[str, Any]]) -> None:
    said = [e["body"]["text"] for e in log if e["kind"] == "user" and str(e["body"].get("text", "")).strip()]
    texts = _texts(agent.project.project(log, "m1"))
    at = 0
    for words in said:
        while at < len(texts) and words not in texts[at]:
            at += 1
        assert at < len(texts), words
        at += 1


@given(log=logs(), late=st.integers(0, 2))
@ANY_LOG
def test_a_request_is_the_beginning_of_the_next(agent: SimpleNamespace, log: list[dict[str, Any]], late: int) -> None:
    """What was said while a reply was streaming comes after it; a compaction alone may rewrite what was sent."""
    log = [_answering(event) for event in log if event["kind"] != "compaction"]
    requests = []
    for n, event in enumerate(log):
        if event["kind"] == "assistant":
            asked = n
            while asked and log[asked - 1]["kind"] in ("nudge", "user", "system-note") and n - asked < late:
                asked -= 1
            event["body"]["seen"] = log[asked - 1]["seq"] if asked else 0
            if event["body"]["seen"]:
                requests.append(agent.project.project(log[:asked], "m1"))
    requests.append(agent.project.project(log, "m1"))
    for request, later in itertools.pairwise(requests):
        check(request)
        assert later[: len(request)] == request


def _answering(event: dict[str, Any]) -> dict[str, Any]:
    """An assistant event as a host writes it: with words, so that it is sent back."""
    if event["kind"] != "assistant":
        return event
    blocks = event["body"].get("blocks")
    blocks = [*(blocks if isinstance(blocks, list) else []), {"type": "text", "text": "words"}]
    return {**event, "body": {**event["body"], "blocks": blocks}}


def _texts(messages: list[dict[str, Any]]) -> list[str]:
    return [b["text"] for m in messages if m["role"] == "user" for b in m["content"] if b["type"] == "text"]
