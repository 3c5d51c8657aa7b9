from __future__ import annotations

import re
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.forge.fakes.log import specimens
from thetis_kernel.gateway.plain import render_plain
from thetis_kernel.gateway.plain_kinds import _DRAW
from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.approvals import Part
from thetis_kernel.protocol.blocks import MAX_BLOCKS_PER_EVENT, MAX_BODY, bounded
from thetis_kernel.protocol.events import KINDS, Event
from thetis_kernel.protocol.spending import Spent

HOSTILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def event(body, seq=7):
    raw = body if isinstance(body, bytes) else ev.encode_body(body)
    kind = "weather" if isinstance(body, bytes) else ev.kind_of(body)
    return Event("s", seq, "e", 0, kind, 1, raw)


def blocks(body):
    (rendered,) = render_plain([event(body)])
    assert rendered.seq == 7
    return rendered.blocks


def shown(body):
    """Everything a person would read of an event."""
    return "\n".join(t for b in blocks(body) for t in (b.title, b.body, *(w for field in b.fields for w in field)))


def test_every_kind_is_drawn():
    assert set(_DRAW) == set(KINDS.values())


def test_one_event_of_each_kind():
    found = [Event("s", e["seq"], "e", 0, e["kind"], 1, msgspec.json.encode(e["body"])) for e in specimens().events]
    rendered = render_plain(found)
    assert [r.seq for r in rendered] == [e.seq for e in found]
    empty = {e.kind for e, r in zip(found, rendered, strict=True) if not r.blocks}
    assert empty - {"spending", "queued", "queue-edited", "queue-recalled"} == {"turn-started", "state-changed"}
    assert all(bounded(r) == r for r in rendered)


CASES = [
    (ev.User("hello *there*"), "user", "hello *there*"),
    (ev.User("", [ev.BlobRef("d" * 64, 12, "text/plain", "a.txt")]), "user", "a.txt (text/plain, 12 bytes)"),
    (ev.Assistant([{"type": "text", "text": "hi"}]), "assistant", "hi"),
    (ev.Assistant([{"type": "thinking", "thinking": "hmm"}]), "thinking", "hmm"),
    (ev.Assistant([], end="overloaded", detail="the provider is busy"), "note", "cut off: the provider is busy"),
    (ev.Assistant([{"type": "text", "text": "so"}], partial=True), "assistant", "cut off"),
    (ev.Assistant([{"type": "server_tool", "x": 1}]), "note", '"x": 1'),
    (ev.ToolInvocation("c", "read", {"path": "a.py"}, "files.read-file", False), "tool", "a.py"),
    (ev.ToolResult("c", "refused", "read-only"), "result", "refused"),
    (ev.ToolResult("c", "interrupted", ""), "result", "outcome unknown"),
    (ev.ToolResult("c", "ok", "x", truncated=True, spill="/spill/c.txt"), "result", "/spill/c.txt"),
    (ev.ToolResult("c", "ok", "x", {"effects": [{"does": "exec", "what": "make", "how": "exit 2"}]}), "result", "make exit 2"),
    (ev.ToolResult("c", "ok", "x", {"effects": [3, {}], "effects_left_out": {"write": 7}}), "result", "7 more"),
    (ev.Nudge("also this"), "user", "also this"),
    (ev.Nudge("go on", "system"), "note", "go on"),
    (ev.SystemNote("half used", "limit"), "note", "half used"),
    (ev.Modification("tool/x", "a" * 64, verdict="pass"), "state", "tool/x changed"),
    (ev.Incident("guest-trap", "It trapped.", {"count": 3}), "incident", "It trapped."),
    (ev.TurnStarted("t", "agent", "m", 1), "turn", "Resumed"),
    (ev.TurnFinished("t", "stop", tool_calls=1, duration_ms=1500), "turn", "1 call, 1.5 s"),
    (ev.TurnFinished("t", "unheard-of"), "turn", "unheard-of"),
    (ev.Compaction([(1, 2)], "summary", 8), "note", "8 messages summed up"),
    (ev.BranchOp("commit", True, after="d" * 40), "state", "commit dddddddd"),
    (ev.BranchOp("merge", False, detail="conflict in a.py"), "state", "merge failed"),
    (ev.SettingChanged("mode", "plan"), "state", "mode: plan"),
    (ev.StateChanged("notes", "k", '"remember"'), "state", "remember"),
    (ev.StateChanged("notes", "k", ""), "state", "removed"),
    (ev.Approval("a", "exec", "make"), "state", "Asks to exec"),
    (ev.Approval("a", "exec", "make", "deny"), "state", "exec: deny"),
    (ev.Question("q", [{"question": "Which?", "options": ["A", "B"]}], "First:"), "note", "  - A"),
    (ev.Answer("q", [{"Which?": "A"}]), "user", "Which?: A"),
    (ev.ChildStarted("c", "tests", "Write tests."), "state", "Sub-agent tests started"),
    (ev.ChildSettled("c", "failed", "", "no answer"), "state", "Sub-agent failed"),
    (ev.Rewind(4, "t"), "turn", "another point in time, the files too"),
    (b'{"kind":"weather","sky":"clear"}', "note", '"sky":"clear"'),
]


@pytest.mark.parametrize(("body", "kind", "words"), CASES)
def test_what_is_shown(body, kind, words):
    assert blocks(body)[0].kind == kind
    assert words in shown(body)


def test_calls_are_not_drawn_twice():
    assert blocks(ev.Assistant([{"type": "tool_use", "id": "c", "name": "read", "input": {}}], end="tool-use")) == []


def test_a_call_and_its_result_carry_the_same_id():
    (call,) = blocks(ev.ToolInvocation("c1", "read", {}, "x", False))
    (result,) = blocks(ev.ToolResult("c1", "ok", "x"))
    assert call.call == result.call == "c1"


def test_a_long_result_is_folded_and_a_guests_own_state_hidden():
    assert blocks(ev.ToolResult("c", "ok", "x\n" * 50))[0].folded
    assert not blocks(ev.ToolResult("c", "ok", "x"))[0].folded
    assert blocks(ev.StateChanged("kv:tool", "k", "1")) == []


DAMAGED = [b"", b"not json", b"[1]", b"{" * 5000, b'{"kind":"user","text":3}', b"\xff\xfe", b"null", b"[" * 10**6]
DAMAGED += [b'{"kind":"assistant","blocks":[{"type":' + b"[" * 100_000]


@pytest.mark.parametrize("raw", DAMAGED, ids=range(len(DAMAGED)))
@pytest.mark.parametrize("kind", ["user", "assistant", "tool-result", "weather"])
def test_a_damaged_event_is_shown_raw(kind, raw):
    (rendered,) = render_plain([Event("s", 1, "e", 0, kind, 1, raw)])
    assert rendered.blocks[0].title == kind
    assert len(rendered.blocks[0].body) <= 2000


def test_hostile_text_loses_its_controls_everywhere():
    evil = "\x1b]52;c;eA==\x07\x1b[2Jx\u202ey\x00"
    for body in (
        ev.User(evil, author=evil),
        ev.ToolInvocation(evil, evil, {evil: evil}, "x", False),
        ev.ToolResult(evil, "ok", evil),
        ev.Incident(evil, evil, {evil: evil}),
        ev.Assistant([{"type": "text", "text": evil}]),
    ):
        (rendered,) = render_plain([event(body)])
        assert not HOSTILE.search("".join(b.title + b.body + b.call for b in rendered.blocks) + shown(body))


words = st.one_of(st.text(max_size=30), st.sampled_from(["\x1b[31m", "\u202e", "x" * 500, "\n" * 30]))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)
keys = st.one_of(words, st.sampled_from(["type", "text", "thinking", "question", "options"]))
BY_HINT = {
    "dict[str, Any]": st.dictionaries(words, json_values, max_size=4),
    "list[dict[str, Any]]": st.lists(st.dictionaries(keys, json_values, max_size=4), max_size=20),
    "list[BlobRef]": st.lists(st.builds(ev.BlobRef, words, st.integers(0, 2**40), words, words), max_size=3),
    "list[tuple[int, int]]": st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3),
    "Usage": st.just(ev.Usage()),
    "Spent": st.just(Spent()),
    "dict[str, Spent]": st.dictionaries(words, st.just(Spent()), max_size=2),
    "list[str]": st.lists(words, max_size=3),
    "list[int]": st.lists(st.integers(0, 2**40), max_size=3),
    "list[Part]": st.lists(st.builds(Part, words, words), max_size=3),
    "Decimal | None": st.none() | st.decimals(0, 10, places=6),
    "int": st.integers(-(2**53), 2**53),
    "bool": st.booleans(),
    "str": words,
}


def bodies():
    """Any event of any kind: each field of any value its type allows."""
    found = []
    for kind in KINDS.values():
        fields = {}
        for name, hint in kind.__annotations__.items():
            literal = hint.startswith("Literal")
            fields[name] = st.sampled_from(re.findall(r"['\"]([^'\"]*)['\"]", hint)) if literal else BY_HINT[hint]
        found.append(st.builds(kind, **fields))
    return st.one_of(found)


@given(bodies())
def test_any_event_of_any_kind_renders_bounded_and_clean(body):
    raw = msgspec.json.encode(body)
    (rendered,) = render_plain([Event("s", 3, "e", 0, ev.kind_of(body), 1, raw)])
    assert len(rendered.blocks) <= MAX_BLOCKS_PER_EVENT
    assert bounded(rendered) == rendered
    for block in rendered.blocks:
        assert block.seq == 3 and len(block.body) <= MAX_BODY
        assert not HOSTILE.search(block.title + block.call + block.body + "".join(a + b for a, b in block.fields))
    msgspec.msgpack.encode(rendered)


@given(st.sampled_from([*KINDS, "weather", ""]), st.one_of(st.binary(max_size=200), json_values.map(msgspec.json.encode)))
def test_any_bytes_render(kind, raw):
    (rendered,) = render_plain([Event("s", 3, "e", 0, kind, 1, raw)])
    assert bounded(rendered) == rendered


def test_the_floor_needs_no_wasm():
    code = "import sys, thetis_kernel.gateway.plain; print([m for m in ('wasmtime', 'thetis_kernel.wasm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
