"""The projection by example: what the model sees of each kind of event. Numbers in names are of complaints.md."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.agent_host import text, use
from tests.support.history import check

Events = list[dict[str, Any]]


def log(*bodies: dict[str, Any]) -> Events:
    return [{"seq": n, "kind": body["kind"], "ts_ms": n, "body": body} for n, body in enumerate(bodies, 1)]


def user(words: str, **more: Any) -> dict[str, Any]:
    return {"kind": "user", "text": words, **more}


def assistant(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "assistant", "blocks": list(blocks), "model": "m1", **more}


def ran(call: str, op: str = "terminal.run", **args: Any) -> dict[str, Any]:
    return {"kind": "tool-invocation", "call": call, "name": "run", "args": args, "op": op, "mutating": True}


def result(call: str, content: str = "done", outcome: str = "ok") -> dict[str, Any]:
    return {"kind": "tool-result", "call": call, "outcome": outcome, "content": content}


@pytest.fixture
def project(agent: SimpleNamespace) -> Any:
    def checked(*bodies: dict[str, Any]) -> Events:
        messages: Events = agent.project.project(log(*bodies), "m1")
        check(messages)
        return messages

    return checked


def answers(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(b["tool_use_id"], b["content"]) for b in message["content"] if b["type"] == "tool_result"]


def words(message: dict[str, Any]) -> list[str]:
    return [b["text"] for b in message["content"] if b["type"] == "text"]


def test_a_round_is_a_question_a_reply_and_its_results(project: Any) -> None:
    messages = project(user("hi"), assistant(text("looking"), use("a", "read", path="f")), ran("a"), result("a", "one"))
    assert messages == [
        {"role": "user", "content": [text("hi")]},
        {"role": "assistant", "content": [text("looking"), use("a", "read", path="f")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "one"}]},
    ]


def test_1_stopped_before_the_call_ran_says_that_nothing_happened(project: Any) -> None:
    last = project(user("hi"), assistant(use("a", "run")), user("again"))[-1]
    assert answers(last)[0][1].startswith("Not run") and words(last) == ["again"]


def test_10_killed_while_the_call_ran_says_that_the_outcome_is_unknown(project: Any) -> None:
    last = project(user("hi"), assistant(use("a", "run")), ran("a"))[-1]
    assert "outcome is unknown" in answers(last)[0][1] and last["content"][0]["is_error"]


def test_9_a_failing_sibling_leaves_the_others_their_results(project: Any) -> None:
    last = project(user("hi"), assistant(use("a", "read"), use("b", "read"), use("c", "read")), ran("a"), ran("b"),
                   ran("c"), result("c", "3"), result("a", "no", "error"))[-1]  # fmt: skip
    assert [call for call, _ in answers(last)] == ["a", "b", "c"]
    assert answers(last)[0][1] == "error: no" and answers(last)[2][1] == "3"


def test_two_results_of_one_call_are_one_and_the_first_counts(project: Any) -> None:
    last = project(user("hi"), assistant(use("a", "run")), ran("a"), result("a", "first"), result("a", "second"))[-1]
    assert answers(last) == [("a", "first")] and words(last) == []


def test_13_16_ids_become_well_formed_and_unique(project: Any) -> None:
    messages = project(user("hi"), assistant(use("call:1", "read"), use("call:1", "read")), result("call:1", "one"),
                       result("call:1", "two"), assistant(use("call:1", "read")), result("call:1", "three"))  # fmt: skip
    assert answers(messages[2]) == [("call_1", "one"), ("call_1-2", "two")]
    assert answers(messages[4]) == [("call_1-3", "three")]


def test_8_an_orphan_result_at_the_head_is_told_not_sent_as_a_result(project: Any) -> None:
    messages = project(result("a", "leftover"), user("hi"))
    assert "leftover" in words(messages[0])[0] and words(messages[0])[1] == "hi"


def test_a_result_that_came_too_late_is_told_where_it_came(project: Any) -> None:
    messages = project(user("hi"), assistant(use("a", "run")), ran("a"), assistant(text("hm")), result("a", "late news"))
    assert "unknown" in answers(messages[2])[0][1]
    assert "late news" in words(messages[4])[0] and "run" in words(messages[4])[0]


def test_effects_of_a_tool_guest_are_not_the_models_calls(project: Any) -> None:
    own = {**ran("k1", "files.write-file"), "origin": "agent"}
    messages = project(user("hi"), assistant(use("a", "t")), ran("a", "tool:t"), own, result("k1", "x"), result("a", "ok"))
    assert answers(messages[-1]) == [("a", "ok")] and words(messages[-1]) == []


def test_5_a_cut_reply_is_kept_with_one_record_of_the_interruption(project: Any) -> None:
    messages = project(
        user("hi"),
        assistant(text("half a sen"), partial=True, end="cancelled", detail="stopped"),
        {"kind": "turn-finished", "turn": "t1", "stopped_by": "cancelled"},
        user("next"),
    )
    assert messages[1]["content"] == [text("half a sen")]
    assert len(words(messages[2])) == 2 and "stopped" in words(messages[2])[0] and words(messages[2])[1] == "next"


STOPPED = {"kind": "system-note", "text": "The person stopped this turn.", "about": "stop"}
RESTARTED = {"kind": "system-note", "text": "Thetis was restarted in the middle of a turn.", "about": "restart"}
CUT = assistant(text("half a sen"), partial=True, end="cancelled", detail="Stopped.", seen=2)


@pytest.mark.parametrize(
    ("between", "cause"),
    [
        ([STOPPED], "stopped"),
        ([STOPPED, CUT], "stopped"),
        ([CUT, STOPPED], "stopped"),
        ([STOPPED, RESTARTED], "stopped"),
        ([assistant(use("a", "run")), ran("a"), STOPPED, result("a", "", "cancelled")], "stopped"),
        ([assistant(text("half"), partial=True, end="transport", detail="The connection broke.")], "connection broke"),
        ([RESTARTED], "restarted"),
        ([], "the person stopped it"),
    ],
)
def test_5_however_a_turn_was_interrupted_one_record_says_so_and_why(project: Any, between: Events, cause: str) -> None:
    started = {"kind": "turn-started", "turn": "t1"}
    ended = {"kind": "turn-finished", "turn": "t1", "stopped_by": "cancelled", "detail": "Stopped."}
    messages = project(user("hi"), started, *between, ended, user("next"), {**started, "turn": "t2"}, STOPPED)
    notes = [said for message in messages for said in words(message) if said.startswith("[system note]")]
    assert cause in notes[0].lower() and len(notes) == 2, notes
    assert notes[1] == "[system note] The person stopped this turn.", "the next turn's own"


def test_a_turn_that_ended_early_without_words_is_recorded_once(project: Any) -> None:
    ended = {"kind": "turn-finished", "turn": "t1", "stopped_by": "limit", "detail": "60 model calls."}
    messages = project(user("hi"), assistant(text("ok")), ended, user("next"))
    assert words(messages[-1]) == ["[system note] The turn ended early: 60 model calls.", "next"]


@pytest.mark.parametrize("why", ["stop", "asked", "restarted"])
def test_a_turn_that_ended_well_is_not_mentioned(project: Any, why: str) -> None:
    messages = project(user("hi"), assistant(text("ok")), {"kind": "turn-finished", "stopped_by": why}, user("next"))
    assert words(messages[-1]) == ["next"]


def test_17_thinking_goes_back_only_to_the_model_that_wrote_it_and_only_whole(project: Any) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    kept = project(user("hi"), assistant(thinking, use("a", "read")), result("a"))
    assert kept[1]["content"][0] == thinking
    for strange in (
        assistant(thinking, use("a", "read")) | {"model": "m0"},
        assistant(thinking, use("a", "read"), partial=True),
        assistant({**thinking, "signature": ""}, use("a", "read")),
    ):
        assert [b["type"] for b in project(user("hi"), strange, result("a"))[1]["content"]] == ["tool_use"]


def test_a_reply_of_thinking_or_white_space_alone_is_not_sent(project: Any) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    assert len(project(user("hi"), assistant(thinking), assistant(text(" \n")), assistant(), user("you there?"))) == 1


def test_replies_in_a_row_are_kept_apart(project: Any) -> None:
    messages = project(user("hi"), assistant(text("one")), assistant(text("two")))
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant", "user"]


def test_what_was_said_while_the_reply_streamed_comes_after_it(project: Any) -> None:
    nudge = {"kind": "nudge", "text": "use tabs", "source": "user"}
    messages = project(user("hi"), nudge, assistant(text("ok"), seen=1))
    assert words(messages[0]) == ["hi"]
    assert words(messages[2]) == ["[said while you were working]\nuse tabs"]


def test_a_turn_without_a_word_is_told_to_go_on_and_the_words_stay(agent: SimpleNamespace) -> None:
    """What was sent once stands in every later request, or the provider's cache is missed."""
    events = log(user("hi"), {"kind": "turn-started", "turn": "t1"}, assistant(text("ok"), seen=2),
                 {"kind": "turn-started", "turn": "t1"}, user("more"))  # fmt: skip
    sent, later = (agent.project.project(events[:n], "m1") for n in (4, 5))
    assert words(sent[-1]) == ["[system note] Go on from here."]
    assert words(later[-1]) == ["[system note] Go on from here.", "more"]


def test_an_empty_word_of_a_person_is_one_all_the_same(project: Any) -> None:
    blank = {"kind": "nudge", "text": " \n", "source": "user"}
    messages = project(user("hi"), assistant(text("ok")), blank, {**blank, "source": "system"})
    assert words(messages[-1]) == ["[said while you were working]\n(an empty message)"]


def test_notes_and_system_nudges_carry_their_marker(project: Any) -> None:
    note = {"kind": "system-note", "text": "restarted", "about": "restart"}
    said = words(project(user("hi"), note, {"kind": "nudge", "text": "children wait", "source": "system"})[0])
    assert said == ["hi", "[system note] restarted", "[system note] children wait"]


def test_38_48_a_summary_stands_where_its_span_began_and_the_last_message_stays_last(agent: SimpleNamespace) -> None:
    compaction = {"kind": "compaction", "spans": [[2, 3]], "summary": "read f", "replaced": 2}
    first, _, _, last, summary, reply, more = log(user("first"), assistant(text("gone")), user("gone too"), user("last"),
                                                  compaction, assistant(text("ok"), seen=5), user("more"))  # fmt: skip
    messages = agent.project.project([first, last, summary, reply, more], "m1")  # as the store gives it
    check(messages)
    said = words(messages[0])
    assert said[0] == "first" and "read f" in said[1] and said[2] == "last" and words(messages[2]) == ["more"]


def test_a_summary_is_laid_out_in_the_middle_of_a_history(agent: SimpleNamespace) -> None:
    bodies = [
        user("one"), assistant(use("a", "read")), result("a"), user("two"), assistant(text("old")), user("three"),
        assistant(text("kept")), user("four"), {"kind": "compaction", "spans": [[5, 5]], "summary": "A"},
        {"kind": "compaction", "spans": [[1, 3]], "summary": "B"},
    ]  # fmt: skip

    def shown(*left_out: int) -> list[list[str]]:
        messages = agent.project.project([event for event in log(*bodies) if event["seq"] not in left_out], "m1")
        check(messages)
        return [[said.splitlines()[-1] for said in words(message)] for message in messages if message["role"] == "user"]

    assert shown(5, 10) == [["one"], ["two", "A", "three"], ["four"]]
    assert shown(1, 2, 3, 9) == [["B", "two"], ["three"], ["four"]]
    assert shown(1, 2, 3, 5) == [["B", "two", "A", "three"], ["four"]]
    assert shown(*range(1, 9)) == [["B", "A"]]


def test_what_a_fork_inherited_is_older_than_its_own_events(agent: SimpleNamespace) -> None:
    inherited = [{**event, "seq": event["seq"] + 50} for event in log(user("from the parent"))]
    events = [*inherited, *log(user("from the fork"), assistant(text("ok"), seen=1))]
    messages = agent.project.project(events, "m1")
    assert words(messages[0]) == ["from the parent", "from the fork"]


def test_names_are_said_from_the_moment_there_are_two_people(project: Any) -> None:
    said = words(project(user("one", author="Ann"), user("two", author="Bo"), user("three", author="Ann"))[0])
    assert said == ["one", "[Bo] two", "[Ann] three"]


def test_attachments_are_named(project: Any) -> None:
    said = words(project(user("look", attachments=[{"digest": "d", "size": 3, "name": "a.png", "media_type": "image/png"}]))[0])
    assert said[0].startswith("look") and "a.png" in said[0]


PICTURE = {"digest": "d" * 64, "size": 3, "name": "a.png", "media_type": "image/png"}
PAPER = {"digest": "e" * 64, "size": 4, "media_type": "application/pdf"}


def test_pictures_and_pdfs_are_blocks_that_hold_a_digest(project: Any) -> None:
    other = {"digest": "f" * 64, "size": 1, "media_type": "text/html"}
    seen = {**result("c"), "attachments": [PICTURE]}
    failed = {**result("d", outcome="error"), "attachments": [PICTURE]}
    messages = project(
        user("look", attachments=[PICTURE, PAPER, other]), assistant(use("c", "read"), use("d", "read")), ran("c"), seen,
        ran("d"),
        failed, {"kind": "nudge", "text": "and this", "attachments": [PAPER]})
    assert [block["type"] for block in messages[0]["content"]] == ["text", "image", "document"]
    assert messages[0]["content"][1]["source"] == {
        "type": "blob", "media_type": "image/png", "digest": "d" * 64, "size": 3, "name": "a.png"}
    first, second, words_, paper = messages[2]["content"]
    assert [part["type"] for part in first["content"]] == ["text", "image"]
    assert isinstance(second["content"], str) and second["is_error"], "an error holds text alone"
    assert words_["text"].endswith("and this") and paper["type"] == "document"


def test_pictures_said_while_the_model_wrote_come_after_its_reply(agent: SimpleNamespace) -> None:
    events = log(user("one"), user("two", attachments=[PICTURE]), assistant(text("reply"), seen=1))
    messages = agent.project.project(events, "m1")
    assert [block["type"] for block in messages[2]["content"]] == ["text", "image"]


@pytest.mark.parametrize("content", ["", "  \n", json.dumps({"text": "", "total": 0})])
def test_an_empty_result_says_so(project: Any, content: str) -> None:
    last = project(user("hi"), assistant(use("a", "read")), ran("a", "files.read-file"), result("a", content))[-1]
    assert answers(last)[0][1] in ("(no output)", "(an empty file)")


def test_an_empty_log_and_an_empty_message_are_still_requests(project: Any) -> None:
    assert len(project()) == 1
    assert words(project(user(" "))[0]) == ["(an empty message)"]
