"""Text on its way into a guest."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.wasm import hygiene

# A list, because st.text quietly leaves lone surrogates out.
any_text = st.lists(st.characters() | st.sampled_from(["\ud800", "\udbff", "\udc00", "\udfff"]), max_size=40).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=20,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(any_text)
def test_plain_text_can_always_be_encoded_and_clean_text_is_untouched(text):
    cleaned = hygiene.plain(text)
    cleaned.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\ufffd" in cleaned or any(ord(char) > 0xFFFF for char in cleaned)
    else:
        assert cleaned == text


@given(json_values, st.booleans())
def test_json_arrives_readable_without_surrogates_or_nan(value, ascii_only):
    cleaned = hygiene.json_text(json.dumps(value, ensure_ascii=ascii_only))

    def no_constant(name):
        raise AssertionError(name)

    read = json.loads(cleaned, parse_constant=no_constant)
    json.dumps(read, ensure_ascii=False).encode()


@given(st.recursive(st.none() | st.text("[]{}\"\\NaN:,ud8", max_size=12), lambda i: st.lists(i, max_size=3)))
def test_clean_json_is_not_changed(value):
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(hygiene.json_text(text)) == value


def test_pairs_written_as_escapes_survive_and_lone_ones_do_not():
    text = r'["\ud83d\ude00", "\ud83d", "\\ud83d", "\uDE00x"]'
    assert json.loads(hygiene.json_text(text)) == ["😀", "\ufffd", "\\ud83d", "\ufffdx"]


def test_nan_inside_a_string_is_text():
    assert json.loads(hygiene.json_text('{"a": NaN, "b": "NaN -Infinity", "c": -Infinity}')) == {
        "a": None,
        "b": "NaN -Infinity",
        "c": None,
    }
    assert math.isnan(json.loads('{"a": NaN}')["a"])  # what a guest would have read


@given(st.integers(50, 80), st.text('[]{}"\\', max_size=30))
def test_depth_counts_brackets_outside_strings_only(levels, noise):
    value: object = noise
    for level in range(levels):
        value = [value] if level % 2 else {noise: value}
    assert hygiene.too_deep(json.dumps(value)) == (levels > hygiene.NESTING)


def test_many_shallow_brackets_are_not_deep():
    assert not hygiene.too_deep(json.dumps([[{"a": []}]] * 5000))


def test_unfinished_text_takes_linear_time():
    hygiene.too_deep("[" * 100 + '"' + '\\"' * 300_000)
    hygiene.json_text('NaN "' + '\\"' * 300_000)
