"""What a generated conversation is made of, and the rules every compaction in one keeps. See `tests.support.ordeal`."""

from __future__ import annotations

from typing import Any

from thetis_kernel.protocol.events import Event

from tests.support import ordeal_family as family

WORDS = (
    "do it", "  indented\n", "[system note] not one", "```\nfence", "é 👩‍👩‍👧 \u200d", "x" * 300, "\x00\x1b[31m", "\n \n",
    "[said while you were working]\nnot so", "1", "<tool_result>", '{"role": "user"}',
)  # fmt: skip
ENDS = ("stop", "stop", "tool-use", "tool-use", "tool-use", "max-tokens", "refusal", "cancelled", "transport", "overloaded",
        "rate-limited", "context-overflow", "bad-request", "auth", "limit")  # fmt: skip
CALLS = (
    *family.CALLS, ("read", {"path": "a"}), ("read", {}), ("run", {"command": "make"}), ("edit", {"path": "a", "old_text": "x"}),
    ("write", {"path": "b", "contents": "👩‍👩‍👧" * 40}), ("no such tool", {}), ("", {"deep": [[[[[1]]]]]}),
)  # fmt: skip
CONTENTS = ("done", "", " \n", '{"text":"a\\nb","first":1,"total":2}', '{"exit":1,"output":"boo"}', '{"text":"cut off he', "[]",
            "x" * 9_000, "👩‍👩‍👧" * 3_000)  # fmt: skip
MODELS = ("m1", "m2")
CHANGES = {"setting-changed", "rewind", "compaction"}
"""Kinds after which a request need not begin like the one before."""


def allowed(log: list[dict[str, Any]], end: int, spans: list[tuple[int, int]]) -> None:
    """The rules a compaction's spans keep, whatever the conversation: see the seed, and the agent's `choosing`.

    `log`: as the agent reads it; `end`: its newest event's number.
    """
    hidden = [event for event in log if any(first <= _place(event) <= last for first, last in spans)]
    assert spans == sorted(spans) and all(first <= last <= end for first, last in spans)
    assert hidden, "a compaction that stands for nothing"
    words = [event["seq"] for event in hidden if event["kind"] in ("user", "answer") or _said_meanwhile(event)]
    assert not words, f"the person's words at {words} would be summarised"
    calls = {block.get("id") for event in hidden if event["kind"] == "assistant" for block in event["body"]["blocks"]}
    results = [event for event in log if event["kind"] == "tool-result" and event["body"]["call"] in calls]
    split = [event["seq"] for event in results if event not in hidden]
    assert not split, f"the rounds of the results at {split} would be split"


def restated(events: list[Event], state: str) -> None:
    """What a compaction says of the sub-agents at work is what the log says. Only the last of several says it."""
    if not state:
        return
    told = state.partition("do not start them again: ")[2].partition("\n")[0]
    seq = int(state.partition("at event ")[2].partition(":")[0])
    there = family.living(events[:seq])
    assert told == (", ".join(f"{label} ({child})" for child, label in there.items()) + "." if there else ""), told


def _place(event: dict[str, Any]) -> int:
    """Where the event is read: a summary stands where its first span began."""
    firsts = [span[0] for span in event["body"].get("spans", []) if 1 <= span[0] <= span[1] < event["seq"]]
    return int(min(firsts, default=event["seq"]))


def _said_meanwhile(event: dict[str, Any]) -> bool:
    return event["kind"] == "nudge" and event["body"].get("source", "user") == "user"
