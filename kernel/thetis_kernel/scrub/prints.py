"""Known secrets as keyed digests: a process that has these finds a value in a text and cannot say what it is.

A print is the length of a piece of the value, a 16-bit filter of its first eight bytes, and a keyed digest of the whole
piece. The filter is tried at every place of every long enough run (0.15 us each, measured), the digest where it fits. The
encodings a value usually travels in are printed beside it. Must not know where values come from.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import zlib
from collections.abc import Iterable
from hashlib import blake2b
from urllib.parse import quote

from thetis_kernel.protocol.known import Print

WINDOW = 8
SHORTEST = 8
"""Bytes of a piece: what is shorter would be found in ordinary words."""
LONGEST = 8192
_PIECES = re.compile(rb"[^\s\"'\\]{%d,}" % SHORTEST)
"""White space and quotes end a run in every text, so a value that holds some is known by its pieces."""


def new_salt() -> bytes:
    """The key of all digests of one gateway's life."""
    return secrets.token_bytes(16)


def prints_of(value: str, salt: bytes) -> list[Print]:
    """The prints of a value and its encodings; none for one that is too short to be told from words."""
    plain = value.strip().encode("utf-8", "replace")
    if not SHORTEST <= len(plain) <= LONGEST:
        return []
    forms = {plain, quote(plain, safe="").encode(), json.dumps(value.strip()).encode()[1:-1], plain.hex().encode()}
    forms |= {_inner_base64(plain, shift) for shift in range(3)}
    pieces = {piece for form in forms for piece in _PIECES.findall(form)}
    return [Print(len(piece), _filter(piece[:WINDOW], salt), _digest(piece, salt)) for piece in sorted(pieces)]


class Finder:
    """Finds printed values in bytes. Immutable: a new one is made when prints are added."""

    def __init__(self, prints: Iterable[Print], salt: bytes) -> None:
        self.salt = salt
        self.prints = tuple(dict.fromkeys(prints))
        self._seed = _seed(salt)
        self._known: dict[int, dict[int, set[bytes]]] = {}
        for one in self.prints:
            self._known.setdefault(one.filter, {}).setdefault(one.size, set()).add(one.digest)
        shortest = min((one.size for one in self.prints), default=0)
        self._runs = re.compile(rb"[^\s\"'\\]{%d,}" % shortest) if shortest else None

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """(start, end) of each, in order, none overlapping another."""
        found: list[tuple[int, int]] = []
        if self._runs is None:
            return found
        crc, seed, known = zlib.crc32, self._seed, self._known
        for run in self._runs.finditer(data):
            first, end = run.span()
            places = [at for at in range(first, end - WINDOW + 1) if crc(data[at : at + WINDOW], seed) & 0xFFFF in known]
            for at in places:
                if found and at < found[-1][1]:
                    continue
                for size, digests in self._known[crc(data[at : at + WINDOW], seed) & 0xFFFF].items():
                    if at + size <= end and _digest(data[at : at + size], self.salt) in digests:
                        found.append((at, at + size))
                        break
        return found


def _inner_base64(plain: bytes, shift: int) -> bytes:
    """The part of a base64 text that `plain` alone decides, when `shift` bytes stand before it."""
    text = base64.b64encode(b"\0" * shift + plain).rstrip(b"=")
    whole = (shift + len(plain)) * 8 // 6
    return text[-(-shift * 8 // 6) : whole]


def _seed(salt: bytes) -> int:
    return int.from_bytes(salt[:4], "big")


def _filter(window: bytes, salt: bytes) -> int:
    return zlib.crc32(window, _seed(salt)) & 0xFFFF


def _digest(piece: bytes, salt: bytes) -> bytes:
    return blake2b(piece, key=salt, digest_size=16).digest()
