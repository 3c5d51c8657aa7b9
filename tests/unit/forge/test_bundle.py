"""The outermost layer of a bundle: what the guests' Python wrote is read, what it would not write is refused, and the guests read
what is put together here."""

from __future__ import annotations

import base64
import marshal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.forge.bundle import put_together, taken_apart

NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=300)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@given(st.dictionaries(NAMES, st.binary(max_size=400), max_size=6))
def test_the_interpreter_reads_what_is_put_together(codes: dict[str, bytes]) -> None:
    bundle = put_together(codes)
    assert marshal.loads(base64.b64decode(bundle)) == codes == taken_apart(bundle)
    assert list(taken_apart(bundle)) == sorted(codes)


@given(st.dictionaries(NAMES, st.binary(min_size=2, max_size=400), max_size=6))
def test_what_the_interpreter_writes_is_read(codes: dict[str, bytes]) -> None:
    codes = {name: bytes(bytearray(code)) for name, code in codes.items()}  # no code of two modules is one object
    assert taken_apart(encoded(marshal.dumps(codes))) == codes


@given(st.binary(max_size=200))
def test_anything_else_is_refused_or_read_as_names_and_bytes(data: bytes) -> None:
    try:
        found = taken_apart(encoded(data))
    except ValueError:
        return
    assert all(type(name) is str and type(code) is bytes for name, code in found.items())


@pytest.mark.parametrize("value", [
    {}.keys().__class__.__name__, [], None, {"a": "text"}, {"a": 1}, {b"a": b""}, {1: b""}, {"a": {"b": b""}}, {"a": [b""]}, (),
])  # fmt: skip
def test_other_values_are_no_bundles(value: object) -> None:
    with pytest.raises(ValueError, match="a bundle"):
        taken_apart(encoded(marshal.dumps(value)))


@pytest.mark.parametrize("data", [
    b"", b"{", b"{z\x01a", b"{z\x01as\x05\0\0\0abc0", b"{z\x01as\0\0\0\x7f0", b"{0 and more", b"{r\0\0\0\0s\0\0\0\x000",
    b"{z\x01as\x01\0\0\0xz\x01as\x01\0\0\0y0", b"{u\x01\0\0\0\xffs\0\0\0\x000", b"[\0\0\0\0",
])  # fmt: skip
def test_what_is_cut_or_twice_or_refers_elsewhere_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        taken_apart(encoded(data))


def test_base64_is_strict() -> None:
    with pytest.raises(ValueError, match="base64"):
        taken_apart("ezA=\n!")
