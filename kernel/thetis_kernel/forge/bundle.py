"""A bundle's outermost layer: {module name: its code as bytes}, marshalled and in base64, taken apart and put together.

What the compiler answers was made from a stranger's text, so it is never given to `marshal` out here, which trusts what
it reads: this reads the two kinds of item a bundle has, and nothing else. The codes themselves stay bytes to everybody
outside wasm. Knows neither sources nor the engine.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

_DICT, _END, _BYTES = ord("{"), ord("0"), ord("s")
_SHORT_TEXT, _LONG_TEXT = frozenset(b"zZ"), frozenset(b"aAut")
"""ASCII below 256 characters with one byte of length before it; other texts, and bytes, have four."""
_REFERABLE = 0x80
"""Set in a kind's byte when something later may point back to the item; nothing in a bundle's layer does."""


def put_together(codes: Mapping[str, bytes]) -> str:
    """The bundle of these codes, modules in the order of their names."""
    parts = [b"{"]
    for name in sorted(codes):
        encoded, code = name.encode(), codes[name]
        parts += [b"u", len(encoded).to_bytes(4, "little"), encoded, b"s", len(code).to_bytes(4, "little"), code]
    return base64.b64encode(b"".join([*parts, b"0"])).decode()


def taken_apart(bundle: str) -> dict[str, bytes]:
    """The codes of a bundle. Raises ValueError for anything that is none."""
    try:
        data = base64.b64decode(bundle, validate=True)
    except binascii.Error as exc:
        raise ValueError("a bundle is base64") from exc
    reader, found = _Reader(data), {}
    if reader.kind() != _DICT:
        raise ValueError("a bundle is a dictionary")
    while (kind := reader.kind()) != _END:
        if kind not in _SHORT_TEXT | _LONG_TEXT:
            raise ValueError("a bundle's names are texts")
        name = reader.sized(1 if kind in _SHORT_TEXT else 4).decode()
        if reader.kind() != _BYTES or name in found:
            raise ValueError("a bundle has one code for each name")
        found[name] = reader.sized(4)
    if not reader.at_end:
        raise ValueError("a bundle ends where it ends")
    return found


class _Reader:
    """A place in the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def kind(self) -> int:
        return self._take(1)[0] & ~_REFERABLE

    def sized(self, width: int) -> bytes:
        """What follows its own length, which has `width` bytes."""
        return self._take(int.from_bytes(self._take(width), "little"))

    def _take(self, count: int) -> bytes:
        piece = self._data[self._at : self._at + count]
        if len(piece) != count:
            raise ValueError("a bundle is whole")
        self._at += count
        return piece
