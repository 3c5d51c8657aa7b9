"""Poison (R6): whatever is handed over is either stored in a form every reader can decode, or refused."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import Assistant, BlobRef, ToolResult, User, decode_body, encode_body
from thetis_kernel.store import scrub

poison = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=[])), inner, max_size=3),
    max_leaves=12,
)


@given(poison)
@example(float("nan"))
@example({"a": [float("inf"), "\ud800"]})
def test_whatever_goes_in_comes_out_of_every_reader(item):
    poisoned = ToolResult("c", "ok", "x", data={"item": item})
    body, raw = scrub.safe(poisoned)
    stored = decode_body("tool-result", raw)
    assert stored == scrub.clean(body) == scrub.clean(poisoned)
    assert raw.decode() and msgspec.json.decode(raw)["data"] == stored.data
    assert scrub.safe(stored) == (stored, raw), "what is clean stays as it is"


@given(poison)
def test_the_short_way_gives_what_the_long_way_gives(item):
    poisoned = ToolResult("c", "ok", "x", data={"item": item})
    assert scrub.safe(poisoned)[1] == encode_body(scrub.clean(poisoned))


def test_a_clean_body_is_not_copied():
    body = Assistant(blocks=[{"type": "text", "text": "ünïcode 🙂", "n": [1, 2.5, {"a": None}]}])
    assert scrub.safe(body)[0] is body


def test_lone_surrogates_become_replacement_characters():
    body, _ = scrub.safe(User(text="a\ud800b\udfffc", attachments=[BlobRef("0" * 64, 1, name="\ud800.png")]))
    assert body.text == "a\ufffdb\ufffdc"
    assert body.attachments[0].name == "\ufffd.png"


def test_two_halves_that_meet_are_their_character():
    assert scrub.text("\ud83d\ude42") == "🙂"


def test_numbers_json_cannot_hold_become_null():
    assert scrub.value({"a": [math.nan, math.inf, -math.inf, 1.5]}) == {"a": [None, None, None, 1.5]}


def test_depth_is_cut_and_no_deeper_than_the_limit():
    item: object = "bottom"
    for _ in range(5000):
        item = {"in": item}
    _body, raw = scrub.safe(ToolResult("c", "ok", "x", data={"item": item}))
    depth, at = 0, msgspec.json.decode(raw)["data"]
    while isinstance(at, dict):
        depth, at = depth + 1, next(iter(at.values()))
    assert at == scrub.CUT and depth == scrub.MAX_DEPTH - 1


def test_what_json_has_no_form_for_is_refused():
    with pytest.raises(StoreError) as caught:
        scrub.safe(ToolResult("c", "ok", "x", data={"item": object()}))
    assert caught.value.code == "body-invalid"


def test_nul_survives():
    _, raw = scrub.safe(User(text="a\0b"))
    assert decode_body("user", raw).text == "a\0b"
