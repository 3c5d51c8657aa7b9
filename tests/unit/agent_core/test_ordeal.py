"""The real agent lives generated conversations: whatever happens to one, each request is one a model takes."""

from __future__ import annotations

import json
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.history import check
from tests.support.ordeal import lived

ANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
DICE = st.randoms(use_true_random=False)
"""Each throw is hypothesis's own, so that a failure shrinks; seeds are four times as fast, so the many are lived with those."""
SEEDS = st.randoms(use_true_random=True)


def judge(agent: SimpleNamespace, dice: Random) -> None:
    """Live one; then its log cut anywhere, as a crash leaves it, is a valid history too, and the same one twice."""
    ordeal = lived(agent, dice)
    for cut in {len(ordeal.events), dice.randint(0, len(ordeal.events)), dice.randint(0, len(ordeal.events))} - {0}:
        read = ordeal.read(cut)
        messages = agent.project.project(read, "m1")
        check(messages)
        assert json.dumps(agent.project.project(json.loads(json.dumps(read)), "m1")) == json.dumps(messages)


@given(dice=DICE)
@ANY
def test_whatever_happens_each_request_is_one_a_model_takes(agent: SimpleNamespace, dice: Random) -> None:
    judge(agent, dice)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(dice=SEEDS)
@settings(ANY, max_examples=5_000)
def test_five_thousand_conversations(agent: SimpleNamespace, dice: Random) -> None:
    judge(agent, dice)


def test_hundreds_of_conversations_reach_everything(agent: SimpleNamespace) -> None:
    """The generator itself: what it never does, it proves nothing about."""
    kinds: set[str] = set()
    notes: set[str] = set()
    ends: set[str] = set()
    blocks = requests = 0
    for seed in range(250):
        ordeal = lived(agent, Random(seed))
        requests += len(ordeal.requests)
        for event in ordeal.read():
            kinds.add(event["kind"])
            notes.add(event["body"].get("about", ""))
            ends.add(
                event["body"].get("end", "stop")
                if event["kind"] == "assistant"
                else event["body"].get("stopped_by", "")
            )
            blocks = max(blocks, len(event["body"].get("blocks", [])))
    assert {
        "user",
        "nudge",
        "assistant",
        "tool-invocation",
        "tool-result",
        "compaction",
        "rewind",
        "session-started",
        "child-started",
        "child-settled",
        "from-the-future",
    } <= kinds
    assert {"stop", "restart"} <= notes and blocks >= 8 and requests > 200
    assert {"max-tokens", "refusal", "cancelled", "transport", "restarted", "limit", "model-error"} <= ends
