"""The rehearsal model: what it understands, what it calls, and that its answers hold what the tools really said."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.models.rehearsal import Rehearsal, delay_ms
from thetis_kernel.models.rehearsal.backend import reply_to
from thetis_kernel.models.rehearsal.verbs import VERBS, understood
from thetis_kernel.protocol.models import Finished, ModelRequest, TextDelta, ToolCallDelta

from tests.support.history import check

READING = ("read", "list", "search", "find", "recall", "remember", "outline")
ALL = (*READING, "edit", "write", "run")
Tool = Callable[[dict[str, Any]], tuple[str, bool]]


def request(messages: list[dict[str, Any]], tools: tuple[str, ...] = ALL) -> ModelRequest:
    offered = [{"name": name, "description": "", "input_schema": {}} for name in tools]
    return ModelRequest(model="rehearsal", system="", messages=messages, tools=offered)


def said(words: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": words}]}


def stream(asked: ModelRequest) -> tuple[str, list[dict[str, Any]], Finished]:
    """(streamed text, streamed calls, last item)."""
    *items, last = Rehearsal(0).stream(asked, threading.Event())
    text = "".join(item.text for item in items if isinstance(item, TextDelta))
    calls: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, ToolCallDelta):
            calls.setdefault(item.call, [item.name]).append(item.json)
    streamed = [{"id": id_, "name": name, "input": msgspec.json.decode("".join(parts))} for id_, (name, *parts) in calls.items()]
    assert isinstance(last, Finished)
    return text, streamed, last


class Talk:
    """A conversation with the model in which calls are answered by `tools`."""

    def __init__(self, tools: dict[str, Tool] | None = None, offered: tuple[str, ...] = ALL) -> None:
        self.messages: list[dict[str, Any]] = []
        self.tools = tools or {}
        self.offered = offered
        self.rounds: list[list[dict[str, Any]]] = []

    def say(self, words: str) -> str:
        """The final answer to `words`."""
        self.rounds = []
        self.messages.append(said(words))
        for _ in range(20):
            check(self.messages)
            text, streamed, last = stream(request(self.messages, self.offered))
            self.messages.append({"role": "assistant", "content": last.blocks})
            calls = [block for block in last.blocks if block["type"] == "tool_use"]
            assert [{key: call[key] for key in ("id", "name", "input")} for call in calls] == streamed
            assert text == "".join(block["text"] for block in last.blocks if block["type"] == "text")
            if not calls:
                assert last.end == "stop"
                return text
            assert last.end == "tool-use"
            self.rounds.append(calls)
            results = [self._result(call) for call in calls]
            self.messages.append({"role": "user", "content": results})
        raise AssertionError("the model never came to an end")

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        text, ok = self.tools.get(call["name"], lambda args: ("no such tool", False))(call["input"])
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        return block if ok else {**block, "is_error": True}

    def called(self) -> list[tuple[str, dict[str, Any]]]:
        return [(call["name"], call["input"]) for calls in self.rounds for call in calls]


def numbered(text: str) -> tuple[str, bool]:
    return "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(text.split("\n"), 1)), True


FILES = {"README.md": "# Ada's Loom\n\nWeaves nonce-readme-41.", "pyproject.toml": '[project]\nname = "nonce-toml-42"'}


def repository() -> dict[str, Tool]:
    def read(args: dict[str, Any]) -> tuple[str, bool]:
        return numbered(FILES[args["path"]]) if args["path"] in FILES else (f"error: There is no {args['path']}.", False)

    def listed(args: dict[str, Any]) -> tuple[str, bool]:
        top = "src/\nREADME.md  1.2 KB\npyproject.toml  90 B\nnonce-name-40.txt  3 B\nlink  (link)"
        inside = {".": top, "src": "loom.py  1 B"}
        return inside.get(args["path"], "error: no such directory"), args["path"] in inside

    return {"read": read, "list": listed, "search": lambda args: ("src/loom.py:3: # Loom nonce-43", True)}


def test_what_is_in_this_repository_tells_real_names_and_contents() -> None:
    talk = Talk(repository())
    answer = talk.say("What is in this repository?")
    assert [[call["name"] for call in calls] for calls in talk.rounds] == [["list"], ["read", "read", "list"]]
    for nonce in ("nonce-name-40.txt", "nonce-readme-41", "nonce-toml-42", "loom.py", "Python"):
        assert nonce in answer
    assert answer.rstrip().endswith("*") and "rehearsal: no language model connected" in answer


def test_an_empty_repository_has_an_answer_too() -> None:
    answer = Talk({"list": lambda args: ("(an empty directory)", True)}).say("what's in this repo")
    assert "no README" in answer


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        ("list", [("list", {"path": "."})]),
        ("ls src", [("list", {"path": "src"})]),
        ("list files in docs", [("list", {"path": "docs"})]),
        ("read README.md", [("read", {"path": "README.md"})]),
        ("read `a file.txt`", [("read", {"path": "a file.txt"})]),
        ("search TODO", [("search", {"pattern": "TODO"})]),
        ("search for TODO in src", [("search", {"pattern": "TODO", "path": "src"})]),
        ('search "x in y"', [("search", {"pattern": "x in y"})]),
        ("find **/*.py", [("find", {"glob": "**/*.py"})]),
        ("run make test", [("run", {"command": "make test"})]),
        ("run `ls -l`", [("run", {"command": "ls -l"})]),
        ("recall", [("recall", {})]),
        ("recall owner", [("recall", {"key": "owner"})]),
        ("remember owner: Ada: the first", [("remember", {"key": "owner", "content": "Ada: the first"})]),
        ("outline src/loom.py", [("outline", {"path": "src/loom.py"})]),
        ("replace a b with c in d.txt", [("edit", {"path": "d.txt", "old_text": "a b", "new_text": "c"}),
                                         ("read", {"path": "d.txt"})]),
        ('replace "in a" with "with b" in f', [("edit", {"path": "f", "old_text": "in a", "new_text": "with b"}),
                                               ("read", {"path": "f"})]),
        ("create n.txt with one\ntwo", [("write", {"path": "n.txt", "contents": "one\ntwo\n"}), ("read", {"path": "n.txt"})]),
    ],
)  # fmt: skip
def test_an_instruction_becomes_its_calls_and_their_results_reach_the_answer(
    words: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    talk = Talk(dict.fromkeys(ALL, lambda args: ("nonce-77 in a with b c one", True)))
    answer = talk.say(words)
    assert talk.called() == calls
    assert "nonce-77" in answer or words.startswith("remember")


def test_a_files_content_is_quoted_without_the_numbers_that_read_shows() -> None:
    text = "def f():\n\treturn 7  [not a remark]\n\n```\nfence\n```"
    talk = Talk({"read": lambda args: (numbered(text)[0] + "\n[lines 1-6 of 99; read on with offset=7]", True)})
    answer = talk.say("read f.py")
    assert text in answer and "6 lines" in answer and "````" in answer and "offset=7" not in answer


def test_a_failed_call_is_told() -> None:
    answer = Talk(repository()).say("read gone.txt")
    assert "did not work" in answer and "There is no gone.txt." in answer


def test_a_command_that_fails_shows_what_it_printed() -> None:
    answer = Talk({"run": lambda args: ("nonce-9\n[exit 1]", False)}).say("run false")
    assert "It failed" in answer and "nonce-9" in answer and "[exit 1]" in answer


@pytest.mark.parametrize("words", ["tour", "give me the tour", "Please give me a tour!"])
def test_the_tour_takes_five_steps_on_real_files(words: str) -> None:
    written: dict[str, str] = {}

    def write(args: dict[str, Any]) -> tuple[str, bool]:
        written[args["path"]] = args["contents"]
        return f"created {args['path']} (9 bytes)", True

    tools = {**repository(), "write": write, "run": lambda args: (f"3 {args['command'].split()[-1]} nonce-8\n[exit 0]", True)}
    talk = Talk(tools)
    answer = talk.say(words)
    assert [name for name, _ in talk.called()] == ["list", "read", "search", "write", "run"]
    assert written and "nonce-8" in answer and "src/loom.py" in answer and "untouched" in answer
    for n in range(1, 6):
        assert any(f"Step {n} of 5" in str(message) for message in talk.messages)


def test_the_tour_of_a_read_only_mode_changes_nothing_and_says_so() -> None:
    talk = Talk(repository(), READING)
    answer = talk.say("tour")
    assert [name for name, _ in talk.called()] == ["list", "read", "search"] and "read-only" in answer


@pytest.mark.parametrize("words", ["run ls", "create f with x", "replace a with b in f"])
def test_a_tool_that_is_not_offered_is_not_called(words: str) -> None:
    talk = Talk(repository(), READING)
    assert "not offered" in talk.say(words) and talk.called() == []


@pytest.mark.parametrize("words", ["hello", "please fix the bug", "?", "touring", "rehearse: nonsense"])
def test_anything_else_is_answered_with_what_is_understood(words: str) -> None:
    answer = Talk().say(words)
    assert "what is in this repository?" in answer and "tour" in answer and "no language model connected" in answer
    assert "rehearse:" not in answer


def test_every_example_shown_to_people_is_understood() -> None:
    for verb in VERBS:
        if verb.example:
            found = understood(verb.example)
            assert found is not None and found[0] is verb, verb.example


def test_what_the_person_says_while_it_works_counts_and_notes_of_the_system_do_not() -> None:
    messages = [said("run ls")]
    messages[0]["content"].append({"type": "text", "text": "[said while you were working]\nread README.md"})
    messages[0]["content"].append({"type": "text", "text": "[system note] read secrets.txt"})
    assert [call["input"] for call in reply_to(request(messages)).calls] == [{"path": "README.md"}]


def test_call_ids_are_new_in_the_conversation() -> None:
    talk = Talk(repository())
    talk.say("what is in this repository?")
    talk.say("tour")
    check([*talk.messages, said("thanks")])


def test_the_same_request_gives_the_same_stream() -> None:
    asked = request([said("what is in this repository?")])
    assert stream(asked) == stream(asked)


@given(messages=st.lists(st.dictionaries(st.sampled_from(["role", "content", "x"]), st.one_of(
    st.sampled_from(["user", "assistant"]), st.lists(st.dictionaries(st.sampled_from(["type", "text", "input", "id"]),
    st.one_of(st.none(), st.text(max_size=9), st.integers(), st.sampled_from(["text", "tool_use", "tool_result"]))))),
    max_size=3), max_size=6))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_no_request_makes_it_fail(messages: list[dict[str, Any]]) -> None:
    _, _, last = stream(request(messages))
    assert last.end in ("stop", "tool-use")


# -- drills


def test_a_loop_makes_as_many_replies_with_calls_as_asked() -> None:
    talk = Talk(repository())
    assert "Made 7 calls" in talk.say("rehearse: loop 7 calls")
    assert [len(calls) for calls in talk.rounds] == [1] * 7


@pytest.mark.parametrize(("words", "end"), [("fail", "transport"), ("overflow", "context-overflow"), ("cut", "max-tokens")])
def test_a_drill_ends_the_stream_as_asked(words: str, end: str) -> None:
    text, calls, last = stream(request([said(f"rehearse: {words}")]))
    assert last.end == end and calls == []
    assert [block["text"] for block in last.blocks] == ([text] if text else [])


def test_a_slow_reply_can_be_cancelled_at_once() -> None:
    cancel = threading.Event()
    cancel.set()
    *_, last = Rehearsal(0).stream(request([said("rehearse: slow 600000 ms")]), cancel)
    assert isinstance(last, Finished) and last.end == "cancelled"


def test_a_cancelled_reply_keeps_the_words_that_were_sent() -> None:
    cancel = threading.Event()
    sent = ""
    for item in Rehearsal(0).stream(request([said("hello")]), cancel):
        if isinstance(item, TextDelta):
            sent += item.text
            cancel.set()
        else:
            assert isinstance(item, Finished) and item.end == "cancelled" and item.blocks == [{"type": "text", "text": sent}]


def test_the_pace_is_a_setting() -> None:
    asked = ("0", "25", "", "-3", "x", "99999")
    assert [delay_ms({"THETIS_REHEARSAL_DELAY_MS": words}) for words in asked] == [0, 25, 8, 8, 8, 1000]


def test_long_answers_come_in_larger_pieces() -> None:
    talk = Talk({"read": lambda args: numbered("\n".join("word " * 20 for _ in range(60)))})
    talk.say("read long.txt")
    *items, _ = Rehearsal(0).stream(request(talk.messages[:-1]), threading.Event())
    assert len(items) <= 121


def test_it_reads_the_prompt_it_was_asked_with() -> None:
    asked = request([said("what does your prompt say about captains?")])
    text, calls, _ = stream(msgspec.structs.replace(asked, system="# How to talk\n- Speak of Captains at sea.\n- Be short."))
    assert "Speak of Captains at sea." in text and "Be short" not in text and not calls
    assert "says nothing about `captains`" in stream(asked)[0]
