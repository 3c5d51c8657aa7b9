"""Plan, todos and questions: what they do to the conversation's state, and how they end or prolong a turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from thetis_kernel.toolhost.asking import QuestionError, ask

from tests.support.agent_host import AgentHost, reply, scripted, text, use

Run = Any


def results(host: AgentHost) -> list[tuple[str, str]]:
    return [
        (event["body"]["outcome"], event["body"]["content"]) for event in host.events if event["kind"] == "tool-result"
    ]


def notes(host: AgentHost, about: str) -> list[str]:
    return [event["body"]["text"] for event in host.events if event["body"].get("about") == about]


def kept(host: AgentHost, scope: str, key: str) -> Any:
    found = [
        event["body"]["value"]
        for event in host.events
        if (event["body"].get("scope"), event["body"].get("key")) == (scope, key)
    ]
    return json.loads(found[-1])


def test_a_plan_is_written_edited_and_read(run: Run) -> None:
    host = AgentHost(
        scripted(
            reply(
                use("a", "plan_write", title="Ark", body="1. saw\n2. nail"),
                use("b", "plan_edit", old_text="nail", new_text="glue"),
            ),
            reply(use("c", "plan_edit", old_text="", new_text="3. float"), use("d", "plan_read")),
            reply(text("ok")),
        )
    )
    run(host, host.start("plan"))
    assert kept(host, "plan", "document") == {"title": "Ark", "body": "1. saw\n2. glue\n3. float", "revision": 3}
    assert "# Ark" in results(host)[-1][1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (use("a", "plan_edit", old_text="nowhere", new_text="x"), "0 times, not once"),
        (use("a", "plan_edit", old_text="1.  saw", new_text="x"), "other spaces"),
        (use("a", "plan_write", body=" "), "without a word"),
        (use("a", "todo_update", updates=[{"id": "7", "status": "completed"}]), "no todo '7'"),
        (use("a", "todo_write", todos=[{"content": "x" * 300}]), "1 to 200 bytes"),
        (use("a", "todo_write", todos=[{"content": "x", "status": "done"}]), "one of pending"),
        (use("a", "tool_search", load=["odd"]), "no tool group 'odd'"),
    ],
)
def test_what_does_not_fit_changes_nothing(run: Run, call: dict[str, Any], words: str) -> None:
    host = AgentHost(scripted(reply(use("p", "plan_write", body="1. saw")), reply(call), reply(text("ok"))))
    run(host, host.start("plan"))
    outcome, said = results(host)[-1]
    assert outcome == "error" and words in said and kept(host, "plan", "document")["body"] == "1. saw"


def test_the_next_turn_goes_on_from_the_log(run: Run) -> None:
    host = AgentHost(
        scripted(reply(use("a", "todo_write", todos=[{"content": "saw", "status": "completed"}])), reply(text("ok")))
    )
    run(host, host.start("plan"))
    host.model = scripted(reply(use("b", "plan_read")), reply(text("ok")))
    run(host, host.start("and now", "t2"))
    assert "[x] 1. saw" in results(host)[-1][1]


def test_stopping_with_todos_open_is_nudged_at_most_twice_and_only_when_they_changed(run: Run) -> None:
    todos = [{"content": "saw"}, {"content": "nail"}]
    host = AgentHost(
        scripted(
            reply(use("a", "todo_write", todos=todos)),
            reply(text("I stop")),
            reply(use("b", "todo_update", updates=[{"id": "1", "status": "completed"}])),
            reply(text("I stop again")),
            reply(use("c", "todo_update", updates=[{"id": "2", "status": "in_progress"}])),
            reply(text("I stop for good")),
        )
    )
    assert run(host, host.start("work"))["stopped_by"] == "stop"
    assert len(notes(host, "todos")) == 2
    host.model = scripted(*[reply(text("hello"))] * 3)
    run(host, host.start("hi", "t2"))
    run(host, host.start("hi", "t3"))
    assert len(notes(host, "todos")) == 3, "the list changed after the second; from then on it is the same"


def test_nobody_is_nudged_in_a_read_only_mode(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "todo_write", todos=[{"content": "saw"}])), reply(text("the plan"))))
    run(host, {**host.start("plan"), "mode": {"id": "plan", "read_only": True}})
    assert notes(host, "todos") == []


def test_17_asking_ends_the_turn_and_the_answer_begins_the_next(run: Run) -> None:
    """Lesson 17."""
    questions = [{"question": "Which colour?", "options": ["red", "green"]}]
    host = AgentHost(scripted(reply(use("a", "ask_user", questions=questions), use("b", "list"))))
    assert run(host, host.start("paint"))["stopped_by"] == "asked"
    assert [call["op"] for call in host.calls] == ["session.ask", "files.list-dir"], (
        "the other calls of the reply have run"
    )
    host.log("answer", id="q1", answers=[{"id": "1", "question": "Which colour?", "answer": "green"}])
    host.model = scripted(reply(text("painted")))
    host.turn = "t2"
    assert run(host, host.resume())["stopped_by"] == "stop"
    assert "Which colour?\n  green" in host.requests[-1]["messages"][-1]["content"][-1]["text"]


def test_a_question_that_was_refused_does_not_end_the_turn(run: Run) -> None:
    host = AgentHost(
        scripted(reply(use("a", "ask_user", questions=[])), reply(text("ok"))),
        perform=lambda call: ("error", "no question"),
    )
    assert run(host, host.start("paint"))["stopped_by"] == "stop"


# -- the host's side


class Journal:
    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def append(self, body: Any) -> int:
        self.bodies.append(body)
        return len(self.bodies)


def test_a_question_is_logged_as_it_can_be_answered() -> None:
    journal = Journal()
    told = ask(
        journal,
        "I found two.",
        [{"question": " Which? ", "options": [{"label": "a"}, "b"], "allow_multiple": True}, {"question": "Why?"}],
    )  # type: ignore[arg-type]
    assert told["questions"] == [
        {"id": "1", "question": "Which?", "options": ["a", "b"], "allow_multiple": True},
        {"id": "2", "question": "Why?"},
    ]
    assert journal.bodies[0].intro == "I found two." and journal.bodies[0].id == told["id"]


@pytest.mark.parametrize(
    "questions",
    [
        [], [{"question": "x"}] * 6, [{"question": " "}], ["x"], [{"question": "x", "options": ["a"]}],
        [{"question": "x", "options": ["a", "a"]}], [{"question": "x", "options": [str(n) for n in range(25)]}],
        [{"question": "x", "id": "1"}, {"question": "y", "id": "1"}],
    ],
)  # fmt: skip
def test_a_question_nobody_could_answer_is_refused(questions: list[Any]) -> None:
    journal = Journal()
    with pytest.raises(QuestionError):
        ask(journal, "", questions)  # type: ignore[arg-type]
    assert journal.bodies == []
