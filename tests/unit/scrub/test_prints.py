"""Known secrets by digests alone: found wherever they stand, in the encodings they travel in, and nothing else is."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.scrub.prints import Finder, new_salt, prints_of

SALT = new_salt()
KEY = "sk-canary-0123456789abcdefXYZ"
ODD = 'pa"ss w\u00f6rd\\with/odd+signs=='


def finder(*values: str) -> Finder:
    return Finder([one for value in values for one in prints_of(value, SALT)], SALT)


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"x{KEY}y",
        f"{KEY}{KEY}",
        f"key={KEY}&b=1",
        f'{{"k":"{KEY}"}}',
        f"\n{KEY}\n",
        f"https://u:{KEY}@h/",
        "a" * 5000 + KEY + "b" * 5000,
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"ab{KEY}cd".encode()).decode(),
        base64.b64encode(KEY.encode()).decode(),
        KEY.encode().hex(),
        quote(KEY, safe=""),
    ],
)
def test_it_is_found(text: str) -> None:
    assert finder(KEY).find(text.encode())


@pytest.mark.parametrize(
    "text", ["", KEY[:-1], KEY[1:], KEY.upper(), KEY[::-1], "sk-canary", "an ordinary text of words " * 50]
)
def test_and_nothing_else_is(text: str) -> None:
    assert finder(KEY).find(text.encode()) == []


def test_all_places_in_order_without_overlap() -> None:
    data = f"{KEY} and {KEY}{KEY}".encode()
    places = finder(KEY).find(data)
    assert [data[a:b].decode() for a, b in places] == [KEY] * 3


@pytest.mark.parametrize("form", [ODD, json.dumps(ODD), quote(ODD, safe=""), base64.b64encode(ODD.encode()).decode()])
def test_odd_signs_in_the_forms_they_take(form: str) -> None:
    assert finder(ODD).find(f"<{form}>".encode())


def test_what_is_short_is_left_alone() -> None:
    assert prints_of("secret", SALT) == [] and prints_of("", SALT) == [] and prints_of("   ", SALT) == []


def test_a_print_does_not_hold_the_value() -> None:
    raw = msgspec.msgpack.encode(prints_of(KEY, SALT))
    for width in range(3, len(KEY)):
        for at in range(len(KEY) - width):
            assert KEY[at : at + width].encode() not in raw
    assert prints_of(KEY, SALT) != prints_of(KEY, new_salt())


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="'\"\\"), min_size=8, max_size=60),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_any_value_is_found_in_any_surroundings(value: str, before: str, after: str) -> None:
    if not prints_of(value, SALT) or any(len(part.encode()) < 8 for part in re.split(r"[\s\x1c-\x1f\x85]", value)):
        return
    assert finder(value).find(f"{before} {value} {after}".encode("utf-8", "replace"))


@given(st.binary(max_size=200))
def test_any_bytes_are_searched(data: bytes) -> None:
    for start, end in finder(KEY, ODD).find(data):
        assert 0 <= start < end <= len(data)
