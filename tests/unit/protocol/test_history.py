"""The judge itself: each rule of the Messages API is broken once, and it never raises."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.history import MAX_MARKS, missing, parted, violations

Messages = list[dict[str, Any]]


def user(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "content": [words(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {**user(*blocks), "role": "assistant"}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def use(call: str = "a", **changes: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "read", "input": {}, **changes}


def result(call: str = "a", content: Any = "x", **changes: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **changes}


THINKING = {"type": "thinking", "thinking": "", "signature": "s"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
HI = user("hi")
ROUND = [
    HI,
    assistant(THINKING, "let me see", use("a"), use("b")),
    user(result("b"), result("a", is_error=True), "go on"),
]

VALID: dict[str, Messages] = {
    "one message": [HI],
    "a round with thinking and results in any order": ROUND,
    "ids of earlier rounds stay used": [*ROUND, assistant(use("c")), user(result("c"))],
    "pictures": [user("look", IMAGE), assistant(use("a")), user(result("a", [words("seen"), IMAGE]))],
    "redacted thinking": [HI, assistant({"type": "redacted_thinking", "data": "d"}, "ok"), HI],
    "marks": [user({**words("hi"), "cache_control": {"type": "ephemeral"}})],
}
BROKEN: dict[str, tuple[Any, str]] = {
    "no messages": ([], "no messages"),
    "not a list": ({"role": "user"}, "no messages"),
    "assistant first": ([assistant("x"), HI], "first message"),
    "assistant last": ([HI, assistant("x")], "last message"),
    "role twice": ([HI, HI], "role of the message before"),
    "another role": ([{"role": "system", "content": [words("x")]}, HI], "'system'"),
    "another field": ([{**HI, "name": "x"}], "'name'"),
    "no content": ([user()], "at least one"),
    "content as text": ([{"role": "user", "content": "hi"}], "list of blocks"),
    "junk among the blocks": ([{"role": "user", "content": [words("hi"), None]}], "list of blocks"),
    "blank": ([user(" \n")], "empty"),
    "a call of the user": ([user(use())], "type 'tool_use'"),
    "a result of the assistant": ([HI, assistant(result()), HI], "type 'tool_result'"),
    "an unknown block": ([user({"type": "server_tool_use"})], "'server_tool_use'"),
    "unanswered": ([HI, assistant(use()), HI], "does not answer the call 'a'"),
    "unanswered at the end": ([HI, assistant(use())], "last message"),
    "half answered": ([HI, assistant(use("a"), use("b")), user(result("a"))], "does not answer the call 'b'"),
    "answered too late": ([HI, assistant(use()), HI, assistant("x"), user(result())], "did not call"),
    "answered twice": ([HI, assistant(use()), user(result(), result())], "twice"),
    "orphan": ([user(result())], "did not call"),
    "text before a result": ([HI, assistant(use()), user("x", result())], "before a result"),
    "text between results": (
        [HI, assistant(use("a"), use("b")), user(result("a"), "x", result("b"))],
        "before a result",
    ),
    "id twice": ([HI, assistant(use()), user(result()), assistant(use()), user(result())], "used before"),
    "id twice in one message": ([HI, assistant(use(), use()), user(result())], "used before"),
    "bad id": ([HI, assistant(use("é")), user(result("é"))], "'é'"),
    "long id": ([HI, assistant(use("x" * 65)), user(result("x" * 65))], "1 to 64"),
    "bad name": ([HI, assistant(use(name="read file")), user(result())], "'read file'"),
    "input as text": ([HI, assistant(use(input="{}")), user(result())], "not an object"),
    "empty result": ([HI, assistant(use()), user(result(content=" "))], "is empty"),
    "empty list as result": ([HI, assistant(use()), user(result(content=[]))], "is empty"),
    "a call in a result": ([HI, assistant(use()), user(result(content=[use()]))], "no result can"),
    "empty text in a result": ([HI, assistant(use()), user(result(content=[words("")]))], "text block is empty"),
    "is_error as text": ([HI, assistant(use()), user(result(is_error="yes"))], "is_error"),
    "thinking last": ([HI, assistant("x", THINKING), HI], "last block is thinking"),
    "thinking without signature": ([HI, assistant({**THINKING, "signature": ""}, "x"), HI], "no signature"),
    "redacted without data": ([HI, assistant({"type": "redacted_thinking"}, "x"), HI], "no data"),
    "marked thinking": ([HI, assistant({**THINKING, "cache_control": {}}, "x"), HI], "cache_control"),
    "picture without source": ([user("x", {"type": "image"})], "no source"),
    "too many marks": (
        [user(*[{**words("x"), "cache_control": {}} for _ in range(MAX_MARKS + 1)])],
        "5 cache_control marks",
    ),
    "half a character": ([user("\ud83d")], "half a character"),
    "not a number": ([HI, assistant(use(input={"n": float("nan")})), user(result())], "as JSON"),
    "a value that JSON lacks": ([HI, assistant(use(input={"n": {1, 2}})), user(result())], "as JSON"),
}


@pytest.mark.parametrize("name", VALID)
def test_a_valid_history_is_found_valid(name: str) -> None:
    assert violations(VALID[name]) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named(name: str) -> None:
    messages, about = BROKEN[name]
    assert about in " ".join(violations(messages))


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.sampled_from(["user", "text", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "id", "text", "tool_use_id", "input", "source"])
            | st.text(max_size=2),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(one=JUNK, other=JUNK)
def test_it_judges_anything_and_never_raises(one: Any, other: Any) -> None:
    assert all(isinstance(found, str) for found in violations(one))
    assert missing(["said"], one) == ["said"]
    assert isinstance(parted(one, other), str) and parted(one, copy.deepcopy(one)) == ""


def test_words_are_missed_when_they_are_changed_gone_or_in_another_order() -> None:
    said = [user("first\n"), assistant("first"), user(result(), "[Bo] second", "third")]
    assert missing(["first\n", "second", "third"], said) == []
    assert missing(["first", "third", "second"], said) == ["second"]
    assert missing(["first", "first"], said) == ["first"], "what the model says does not count, nor one text twice"
    assert missing(["third\n"], said) == ["third\n"]


def test_a_request_that_goes_on_begins_like_the_one_before() -> None:
    assert parted(ROUND, [*ROUND, assistant("ok"), user("more")]) == ""
    assert parted(ROUND, [*ROUND[:2], user(*ROUND[2]["content"], "a note")]) == ""
    answered = [*ROUND[:2], user(*ROUND[2]["content"], "a late word"), assistant("ok"), HI]
    assert "differs in message 2" in parted(ROUND, answered), "what came while it was answered stands after the answer"
    assert "before message 2" in parted(ROUND, ROUND[:2])
    assert "differs in message 0" in parted(ROUND, [user("hi", "a late word"), *ROUND[1:]])
    assert "differs in message 2" in parted(ROUND, [*ROUND[:2], user(*ROUND[2]["content"][:2])])
    assert "differs in message 2" in parted(ROUND, [*ROUND[:2], assistant(*ROUND[2]["content"])])
