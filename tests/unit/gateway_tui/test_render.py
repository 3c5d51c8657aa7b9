"""How each kind of event looks, and that no event fails the renderer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thetis_kernel.gateway.plain import render_plain
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.blocks import RenderedEvent, bounded
from thetis_kernel.protocol.events import KINDS, Event

from tests.support.native_guest import native_guest


@pytest.fixture(scope="module")
def guest() -> Iterator[ModuleType]:
    with native_guest(builtin_root() / "aspects" / "gateway_tui") as main:
        yield main


@pytest.fixture
def draw(guest: ModuleType) -> Any:
    """The blocks of one event, as the kernel would take them: nothing had to be cut, renamed or cleaned."""

    def blocks(kind: str, **body: Any) -> list[dict[str, Any]]:
        [answer] = json.loads(json.dumps(guest.render_events([{"seq": 7, "kind": kind, "ts_ms": 0, "body": body}])))
        rendered = msgspec.convert(answer, RenderedEvent)
        taken = bounded(rendered)
        assert [msgspec.structs.replace(block, seq=7) for block in rendered.blocks] == taken.blocks
        return list(answer["blocks"])

    return blocks


def one(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    [block] = blocks
    return block


def result(draw: Any, content: Any, outcome: str = "ok", **more: Any) -> dict[str, Any]:
    words = content if isinstance(content, str) else json.dumps(content)
    return one(draw("tool-result", call="c1", outcome=outcome, content=words, **more))


def test_what_a_tool_did_by_itself(draw: Any) -> None:
    effects = [{"does": "write", "what": "a.txt"}, {"does": "exec", "what": "make", "how": "exit 2"},
               {"does": "http", "what": "GET https://x/", "how": "refused"}, {"does": "new", "what": "x"}, 3, {}]
    block = result(draw, "done", data={"effects": effects, "effects_left_out": {"write": 4, "exec": "x"}})
    assert block["fields"] == [["wrote", "a.txt"], ["ran", "make · exit 2"], ["refused", "fetch GET https://x/"], ["new", "x"],
                               ["did", ""], ["and", "4 more"]]
    many = result(draw, "done", data={"effects": [{"does": "write", "what": str(n)} for n in range(40)]})
    assert len(many["fields"]) == 9 and many["fields"][-1] == ["and", "32 more"]


def test_words_of_people_and_models(draw: Any) -> None:
    said = one(draw("user", text="hi [b]", attachments=[{"name": "a.png", "size": 2048}]))
    assert said["body"] == "hi [b]" and said["fields"] == [["attached", "a.png, 2.0 KB"]]
    nudge = one(draw("nudge", text="use tabs"))
    assert nudge["kind"] == "user" and nudge["tone"] == "muted"
    assert one(draw("nudge", text="x", source="system"))["kind"] == "note"
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    reply = draw("assistant", blocks=[thinking, {"type": "text", "text": "\n# Hello\n"}, call], end="tool-use")
    assert [block["kind"] for block in reply] == ["thinking", "assistant"]
    assert reply[0]["folded"] and reply[1]["format"] == "markdown" and reply[1]["body"] == "# Hello"


@pytest.mark.parametrize(
    ("end", "words"), [("max-tokens", "length limit"), ("refusal", "declined"), ("transport", ""), ("cancelled", "")]
)
def test_a_reply_that_was_cut_says_why_unless_the_turns_end_does(draw: Any, end: str, words: str) -> None:
    blocks = draw("assistant", blocks=[{"type": "text", "text": "half"}], end=end, partial=True, detail="502")
    assert len(blocks) == (2 if words else 1) and words in blocks[-1]["body"]


@pytest.mark.parametrize(
    ("name", "args", "title"),
    [
        ("read", {"path": "README.md"}, "read README.md"),
        ("read", {"path": "a.py", "offset": 20, "limit": 5}, "read a.py:20-24"),
        ("list", {}, "list ."),
        ("search", {"pattern": "TODO", "path": "src", "glob": "*.py"}, "search “TODO” in src (*.py)"),
        ("find", {"glob": "*.toml"}, "find *.toml"),
        ("run", {"command": "pytest -q"}, "run pytest -q"),
        ("run", {"command": "make", "cwd": "docs"}, "run make in docs"),
        ("run", {"command": "set -e\nmake\nmake test"}, "run set -e … 2 more lines"),
        ("edit", {"path": "a.py", "old_text": "a", "new_text": "b", "replace_all": True}, "edit a.py (every occurrence)"),
        ("write", {"path": "a.py", "contents": "x"}, "write a.py"),
        ("remember", {"key": "plan", "content": "x"}, "remember plan"),
        ("outline", {"path": "a.py"}, "outline a.py"),
        ("deploy", {"to": "moon"}, "deploy moon"),
        ("deploy", {"to": "moon", "at": 3}, "deploy to=moon at=3"),
        ("files.write-file", {"path": "a.py", "contents": "x"}, "write a.py"),
        ("", {}, "call"),
    ],
)
def test_a_call_says_what_it_does(draw: Any, name: str, args: dict[str, Any], title: str) -> None:
    block = one(draw("tool-invocation", call="c1", name=name, args=args, op="x", mutating=False))
    assert block["title"] == title and block["kind"] == "tool" and block["call"] == "c1"


def test_what_became_of_an_edit_is_its_diff_with_the_lines_of_the_file(draw: Any) -> None:
    patch = "--- a/f\n+++ b/f\n@@ -7 +7 @@\n-one\n+two" + "\n+more" * 20
    block = result(draw, {"path": "f", "replaced": 1, "line": 7}, data={"patch": patch})
    assert (block["title"], block["format"], block["body"], block["folded"]) == ("line 7", "diff", patch, False)
    assert result(draw, {"path": "f", "bytes": 9, "created": False}, data={"patch": patch})["format"] == "diff"


def test_an_edit_shows_its_diff_and_a_new_file_its_code(draw: Any) -> None:
    args = {"path": "src/a.py", "old_text": "one\ntwo\n", "new_text": "one\nthree\n"}
    edit = one(draw("tool-invocation", call="c", name="edit", args=args))
    assert edit["format"] == "diff"
    assert edit["body"].splitlines() == ["--- a/src/a.py", "+++ b/src/a.py", "@@ -1,2 +1,2 @@", " one", "-two", "+three"]
    write = one(draw("tool-invocation", call="c", name="write", args={"path": "src/a.py", "contents": "x = 1\n"}))
    assert (write["format"], write["language"], write["body"]) == ("code", "python", "x = 1\n")


def test_results_say_the_gist_and_fold_the_rest(draw: Any) -> None:
    read = result(draw, {"path": "a.py", "text": "x = 1", "first": 1, "lines": 1, "total": 1})
    assert (read["title"], read["format"], read["language"], read["folded"]) == ("1 line", "code", "python", True)
    part = result(draw, {"path": "a", "text": "x", "first": 9, "lines": 2, "total": 1200})
    assert part["title"] == "lines 9-10 of 1,200"
    entries = [{"name": "src", "kind": "dir"}, {"name": "a", "kind": "file", "size": 1}]
    assert result(draw, {"path": ".", "entries": entries})["body"] == "src/\na  1 byte"
    matches = [{"path": "a", "line": 1, "text": "x\n"}, {"path": "b", "line": 2, "text": "y"}]
    found = result(draw, {"matches": matches, "truncated": True})
    assert found["title"] == "2 matches in 2 files and more" and found["body"] == "a:1: x\nb:2: y"
    assert result(draw, {"files": ["a", "b"]})["title"] == "2 files"
    assert result(draw, {"counts": [{"path": "a", "count": 3}]})["title"] == "3 matches in 1 file"
    assert result(draw, {"path": "a", "bytes": 2048, "created": True})["title"] == "created, 2.0 KB"
    assert result(draw, {"path": "a", "replaced": 3, "line": 7})["title"] == "3 places, line 7"
    assert result(draw, {"key": "k", "replaced": False, "forgotten": False})["title"] == "noted"
    assert result(draw, {"notes": [{"key": "k", "content": "v"}]})["body"] == "k: v"


def test_a_commands_output_stays_in_sight_and_its_failure_says_how(draw: Any) -> None:
    good = result(draw, {"exit": 0, "output": "2 passed\n", "duration_ms": 1234})
    assert (good["title"], good["body"], good["tone"], good["folded"]) == ("", "2 passed", "good", False)
    assert ["time", "1.2 s"] in good["fields"]
    long = result(draw, {"exit": 0, "output": "x\n" * 50})
    assert long["folded"]
    bad = result(draw, {"exit": 2, "output": "x\n" * 50}, "error")
    assert bad["title"] == "exit 2" and bad["tone"] == "bad" and not bad["folded"]
    assert result(draw, {"exit": None, "output": "", "timed_out": True}, "error")["title"] == "timed out · no output"
    assert result(draw, {"exit": None, "signal": 9, "output": "x"}, "error")["title"] == "killed by signal 9"
    spilled = result(draw, {"exit": 0, "output": "x", "spill": "/spill/c1.txt"})
    assert ["whole", "/spill/c1.txt"] in spilled["fields"]


@pytest.mark.parametrize(
    ("outcome", "title", "tone"),
    [("error", "failed", "bad"), ("refused", "refused", "warn"), ("cancelled", "stopped", "muted"),
     ("interrupted", "interrupted, outcome unknown", "warn")],
)  # fmt: skip
def test_what_went_wrong_is_told(draw: Any, outcome: str, title: str, tone: str) -> None:
    block = result(draw, "There is no a.py.\nUse list.", outcome)
    assert (block["title"], block["tone"], block["body"]) == (title, tone, "There is no a.py.\nUse list.")
    assert result(draw, {"code": "x", "message": "No.", "hint": "Try b."}, outcome)["body"] == "No.\nTry b."


def test_a_tools_own_text_and_json_cut_by_the_log(draw: Any) -> None:
    assert result(draw, "class A  1-9\n  def f  2-3")["title"] == "2 lines"
    assert result(draw, "")["title"] == "no output"
    assert result(draw, '{"path": "a", "text": "x', truncated=True)["folded"]


def test_a_turn_ends_with_what_it_took(draw: Any) -> None:
    usage = {"input": 1200, "cache_read": 30_000, "output": 340}
    done = one(draw("turn-finished", turn="t", stopped_by="stop", iterations=3, tool_calls=5, usage=usage, duration_ms=4200))
    assert done["title"] == "Done" and done["tone"] == "muted"
    assert done["fields"] == [["steps", "3"], ["calls", "5"], ["", "31.2k tokens in, 340 out"], ["time", "4.2 s"]]
    ended = one(draw("turn-finished", turn="t", stopped_by="limit", detail="60 model calls."))
    assert ended["tone"] == "warn" and ended["body"] == "60 model calls."
    reasons = ("stop", "asked", "limit", "cancelled", "repeated-failure", "model-error", "error", "restarted")
    titles = {one(draw("turn-finished", turn="t", stopped_by=reason))["title"] for reason in reasons}
    assert len(titles) == len(reasons) and not any(title.startswith("Ended:") for title in titles)
    assert one(draw("turn-finished", turn="t", stopped_by="new-reason"))["title"] == "Ended: new-reason"
    assert draw("turn-started", turn="t", mode="agent", model="m") == []
    assert one(draw("turn-started", turn="t", attempt=2))["title"] == "Resumed for the second time"


@pytest.mark.parametrize(
    ("kind", "body", "title"),
    [
        ("session-started", {"branch": "conv/ab", "trunk": "main", "model": "m", "mode": "plan"},
         "Conversation on conv/ab, from main · m · plan mode"),
        ("session-started", {"branch": "b", "parent": "12345678abc", "relation": "fork"}, "Forked from 12345678 on b"),
        ("branch-op", {"op": "commit", "ok": True, "after": "ab12cd34ef", "detail": "rename"}, "Committed ab12cd34: rename"),
        ("branch-op", {"op": "materialised", "ok": True, "after": "ab12cd34ef"}, "Checked out a worktree at ab12cd34"),
        ("branch-op", {"op": "merge", "ok": False}, "Branch: merge failed"),
        ("setting-changed", {"name": "mode", "value": "plan"}, "Mode is now plan"),
        ("setting-changed", {"name": "title", "value": "Looms"}, "Titled “Looms”"),
        ("setting-changed", {"name": "archived", "value": "true"}, "Archived"),
        ("modification", {"target": "agent", "verdict": "failed"}, "agent: failed"),
        ("modification", {"target": "agent", "revision": "ab12cd34ef", "by": "agent"}, "agent is now ab12cd34"),
        ("modification", {"target": "agent", "revision": "shipped", "by": "kernel"}, "Thetis put agent back to the shipped one"),
        ("incident", {"code": "store-full", "message": "No space left."}, "No space left."),
        ("approval", {"capability": "run", "what": "rm"}, "Asks for your consent: run"),
        ("approval", {"capability": "run", "decision": "deny"}, "run: denied"),
        ("compaction", {"summary": "s", "replaced": 9}, "9 messages summed up"),
        ("question", {"questions": [{"question": "Which?", "options": ["a", "b"]}]}, "A question for you"),
        ("answer", {"answers": [{"id": "q1", "choice": "a"}]}, "answered"),
        ("child-started", {"child": "c", "label": "scout", "task": "look"}, "Sub-agent scout started: look"),
        ("child-settled", {"child": "12345678", "state": "done", "result": "r"}, "Sub-agent 12345678 done"),
        ("rewind", {"to_seq": 12, "tree": "t"}, "Went to another point in time, the files too"),
        ("state-changed", {"scope": "groups", "key": "shell", "value": '{"why":"search"}'},
         "Tools loaded: shell (found by a search)"),
        ("from-the-future", {"x": 1}, "from-the-future"),
    ],
)  # fmt: skip
def test_what_happens_is_said_in_a_line(draw: Any, kind: str, body: dict[str, Any], title: str) -> None:
    assert one(draw(kind, **body))["title"] == title


def test_a_guests_own_keys_and_notes_are_not_shown_twice(draw: Any) -> None:
    assert draw("state-changed", scope="kv:tool/x", key="k", value="1") == []
    assert draw("state-changed", scope="notes", key="k", value="v") == []


def test_every_kind_of_the_log_has_its_own_drawing(guest: ModuleType) -> None:
    assert set(guest.KINDS) == set(KINDS)


def test_kinds_that_the_plain_renderer_shows_are_shown(guest: ModuleType) -> None:
    """The guest never hides what the floor under it would show, except what other blocks say already."""
    elsewhere = {"state-changed", "system-note", "spending", "queued", "queue-edited", "queue-recalled"}
    for kind in sorted(set(KINDS) - elsewhere):
        body = {"kind": kind, "attempt": 1}
        plain = render_plain([Event("s", 1, "e", 0, kind, 1, json.dumps(body).encode())])[0].blocks
        drawn = guest.render_events([{"seq": 1, "kind": kind, "body": body}])[0]["blocks"]
        assert bool(drawn) or not plain or kind == "assistant", kind


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("text", "blocks", "content", "args", "call", "name", "outcome", "usage", "data", "spans", "questions", "answers",
          "attachments", "value", "scope", "stopped_by", "attempt", "op", "decision", "duration_ms", "end")  # fmt: skip
BODY = st.dictionaries(st.sampled_from(FIELDS), JUNK | st.builds(json.dumps, JUNK), max_size=6)
SHAPE = st.dictionaries(st.sampled_from(["exit", "output", "text", "first", "total", "lines", "bytes", "created", "path",
    "replaced", "entries", "matches", "files", "counts", "notes", "message", "signal", "duration_ms"]), JUNK)  # fmt: skip


@given(
    events=st.lists(
        JUNK
        | st.fixed_dictionaries({"seq": st.integers(0, 9), "kind": st.sampled_from([*KINDS, "new"]), "body": BODY | JUNK})
        | st.builds(lambda shape, outcome: {"seq": 1, "kind": "tool-result", "body": {
            "call": "c", "outcome": outcome, "content": json.dumps(shape)}}, SHAPE, st.sampled_from(["ok", "error", "x"])),
        max_size=6,
    )
)  # fmt: skip
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_event_fails_the_renderer(guest: ModuleType, events: list[Any]) -> None:
    answers = guest.render_events(events)
    assert len(answers) == len(events)
    for answer in answers:
        bounded(msgspec.convert(json.loads(json.dumps(answer)), RenderedEvent))


def test_a_drawing_that_fails_is_replaced_by_the_event_as_it_stands(guest: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(body: dict[str, Any]) -> list[dict[str, Any]]:
        raise RuntimeError

    monkeypatch.setitem(guest.KINDS, "user", broken)
    events = [{"seq": 1, "kind": "user", "body": {"text": "hi"}}, {"seq": 2, "kind": "nudge", "body": {"text": "x"}}]
    first, second = guest.render_events(events)
    assert "hi" in first["blocks"][0]["body"] and second["blocks"][0]["body"] == "x"


def test_the_other_exports(guest: ModuleType) -> None:
    from thetis_guest import HostError

    assert guest.describe()["name"] == "gateway_tui"
    assert guest.serve_asset("/")["text"] and guest.on_client_message({"list": 1})["ok"] is False
    with pytest.raises(HostError):
        guest.serve_asset("/secret")


@pytest.mark.parametrize(("spent", "words"), [
    ({}, ""), ({"input": 5, "cost": "0"}, ""), ({"input": 5, "unpriced": 5}, "price unknown"),
    ({"input": 5, "cost": "0.0425"}, "$0.043"),
    ({"input": 5, "cost": "1.205", "estimated": True}, "~$1.21"), ({"input": 5, "cost": "1E-7"}, "<$0.0001"),
    ({"input": 5, "output": 2_000, "cost": "0.00085", "unpriced": 2_000}, "$0.0009 + 2.0k tokens of unknown price"),
    ({"input": 5, "cost": "12"}, "$12.00"), ({"input": 5, "cost": "\x1b["}, "<$0.0001"), ({"input": "x", "cost": 5}, ""),
])
def test_what_a_turn_cost_reads_as_the_kernel_says_it(guest: ModuleType, spent: dict[str, Any], words: str) -> None:
    body = {"kind": "turn-finished", "stopped_by": "stop", "spent": spent}
    (block,) = guest.render_events([{"seq": 1, "kind": "turn-finished", "body": body}])[0]["blocks"]
    assert [value for label, value in block["fields"] if "$" in value or "unknown" in value] == ([words] if words else [])


def test_a_picture_that_was_read_is_a_line(guest: ModuleType) -> None:
    content = json.dumps({"path": "a.png", "media_type": "image/png", "size": 2_000, "attachment": {"digest": "d"}})
    body = {"kind": "tool-result", "call": "c", "outcome": "ok", "content": content}
    (block,) = guest.render_events([{"seq": 1, "kind": "tool-result", "body": body}])[0]["blocks"]
    assert block["title"].startswith("picture, 2") and not block["body"]
