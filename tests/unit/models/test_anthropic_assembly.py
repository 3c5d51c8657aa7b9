"""What comes back: events however they are cut, blocks, usage; nothing a server sends can make it fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.models.anthropic import sse
from thetis_kernel.models.anthropic.assembly import UNREADABLE, Assembly, clean
from thetis_kernel.protocol.events import Usage
from thetis_kernel.protocol.models import StreamItem, TextDelta, ToolCallDelta

from tests.support.messages_server import PING, UNKNOWN, call, event, message, text, thinking

WHOLE = [thinking("hm, 🤔 well", "sig+/=="), text("Grüße 🎈\n"), call("a", "list", path="ü"), call("b", "list")]


def read(raw: bytes, size: int = 1 << 20) -> tuple[Assembly, list[StreamItem]]:
    events, assembly, items = sse.Events(), Assembly(), []
    for at in range(0, len(raw), size):
        for data in events.feed(raw[at:at + size]):
            items += assembly.take(data)
    return assembly, items


@given(st.integers(1, 40))
def test_bytes_may_be_cut_anywhere(size: int) -> None:
    assembly, items = read(b"".join(message(*WHOLE, size=2)), size)
    assert assembly.blocks(cut=False) == WHOLE and assembly.stop == "tool-use" and assembly.over
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "Grüße 🎈\n"
    assert assembly.usage() == Usage(input=11, output=23, cache_read=7, cache_write=5)


def test_crlf_comments_and_data_on_several_lines() -> None:
    raw = b': hello\r\nevent: x\r\ndata: {"a":\r\ndata: 1}\r\nid: 7\r\n\r\n\r\ndata:{}\n\n'
    assert list(sse.Events().feed(raw)) == [b'{"a":\n1}', b"{}"]


def test_an_event_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 100)
    events = sse.Events()
    list(events.feed(b"data: x\n\n" * 50))
    with pytest.raises(sse.TooLong):
        for _ in range(11):
            list(events.feed(b"0123456789"))


def test_what_it_does_not_know_changes_nothing() -> None:
    lost = event("content_block_delta", index=99, delta={"type": "text_delta", "text": "lost"})
    noise = UNKNOWN + PING + lost + b"data: no json\n\n" + b"data: [1]\n\n" + b"data: " + b"[" * 100_000 + b"\n\n"
    assembly, _ = read(b"".join(noise + piece for piece in message(*WHOLE)))
    assert assembly.blocks(cut=False) == WHOLE


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                    max_leaves=8)
NAMES = st.sampled_from(["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"])


@given(st.lists(st.fixed_dictionaries({"type": NAMES, "index": JSON, "delta": JSON, "content_block": JSON, "message": JSON,
                                       "usage": JSON}), max_size=6))
def test_nothing_a_server_sends_makes_it_fail(told: list[dict[str, Any]]) -> None:
    assembly = Assembly()
    for one in told:
        list(assembly.take(json.dumps(one).encode()))
    assert isinstance(assembly.blocks(cut=True), list)


def test_parallel_calls_under_one_id_get_ids_of_their_own() -> None:
    """complaints 13 (gemini-cli#26646): calls that share an id would share one answer."""
    assembly, items = read(b"".join(message(call("x", "list", n=1), call("x", "list", n=2), call("", "list", n=3))))
    assert [block["id"] for block in assembly.blocks(cut=False)] == ["x", "x-2", "call"]
    assert {item.call for item in items if isinstance(item, ToolCallDelta)} == {"x", "x-2", "call"}


def test_a_surrogate_pair_in_two_deltas_is_one_character_and_half_a_pair_is_none() -> None:
    """complaints 18 (CC 2.1.132): half an emoji in the history made every later request fail."""
    raw = b"".join(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "?"}).replace(b'"?"', part)
                   for part in (b'"a\\ud83d"', b'"\\ude00b"', b'"\\ud83d"', b'"!"', b'"\\udc00"'))
    assembly, _ = read(event("content_block_start", index=0, content_block={"type": "text", "text": ""}) + raw)
    assert assembly.blocks(cut=True) == [{"type": "text", "text": "a😀b�!�"}]
    assert clean("\ud800\udc00") == "\U00010000"


@pytest.mark.parametrize(("raw", "stop", "kept"), [
    ('{"a": 1}', "tool_use", {"a": 1}), ("", "tool_use", {}), ('{"a": ', "tool_use", {UNREADABLE: '{"a": '}),
    ("[1]", "tool_use", {UNREADABLE: "[1]"}), ('{"a": ', "max_tokens", None), ('{"a": NaN}', "tool_use", {"a": None}),
])
def test_arguments(raw: str, stop: str, kept: dict[str, Any] | None) -> None:
    """A call that was cut at the token limit is left out; one the model wrote wrong reaches the tool's check."""
    start = event("content_block_start", index=0, content_block={"type": "tool_use", "id": "a", "name": "list", "input": {}})
    assembly, _ = read(b"".join([
        start, event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": raw}),
        event("content_block_stop", index=0), event("message_delta", delta={"stop_reason": stop}), event("message_stop")]))
    assert [block["input"] for block in assembly.blocks(cut=False)] == ([] if kept is None else [kept])


@pytest.mark.parametrize("cut_at", range(len(message(*WHOLE, size=2))))
def test_a_cut_keeps_what_is_whole_and_text(cut_at: int) -> None:
    assembly, _ = read(b"".join(message(*WHOLE, size=2)[:cut_at]))
    for block in assembly.blocks(cut=True):
        whole = next(w for w in WHOLE if w["type"] == block["type"] and w.get("id") == block.get("id"))
        assert block == whole or (block["type"] == "text" and whole["text"].startswith(block["text"]))


def test_usage_is_the_last_count_and_nonsense_is_no_count() -> None:
    def used(first: dict[str, Any], last: dict[str, Any]) -> Usage | None:
        return read(event("message_start", message={"usage": first}) + event("message_delta", delta={}, usage=last))[0].usage()

    assert used({"input_tokens": 5, "output_tokens": 1}, {"output_tokens": 9}) == Usage(input=5, output=9)
    assert used({"input_tokens": 5, "output_tokens": 1}, {"input_tokens": 6, "output_tokens": 9}) == Usage(input=6, output=9)
    assert used({"input_tokens": -5, "output_tokens": "9"}, {"output_tokens": 1e3, "cache_read_input_tokens": True}) is None
    assert used({"input_tokens": 10**30}, {}) is None
