"""The hash chain over a conversation's events. It finds damage, not a hostile administrator.

Each event's hash is SHA-256 over the msgpack array [previous hash, session, seq, event id, kind, version, time, form,
body]: lengths are part of that encoding, so no two events share their bytes. Checking that costs 1.7 us an event. Every
full run of `RUN` rows therefore has a seal too, one CRC-32 over all their columns, hashes included, made when the links
were last checked: it finds what a disk does to bytes at a quarter of the price. A reader needs the single links where a
run is not sealed or its seal does not fit; a full check (`Store.verify`) uses nothing else.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence

import msgspec

ZERO = bytes(32)
"""What the first event of a conversation without a parent is chained to."""
RUN = 64
"""Rows under one seal; runs end at multiples of it."""

Row = tuple[int, str, str, int, int, int, bytes, bytes]
"""A stored row: seq, event_id, kind, v, ts_ms, form, body, hash."""

_encoder = msgspec.msgpack.Encoder()


def link(previous: bytes, session: str, row: Sequence[object]) -> bytes:
    """The hash of an event whose columns are the first seven of `row`, chained to `previous` (32 bytes)."""
    return hashlib.sha256(_encoder.encode((previous, session, *row[:7]))).digest()


def seal(session: str, rows: Sequence[Row]) -> int:
    """The checksum of a whole run of rows."""
    return zlib.crc32(_encoder.encode((session, rows)))


def sound(session: str, previous: bytes, after: int, rows: Sequence[Row], seals: Mapping[int, int]) -> int:
    """How many of `rows`, from the first, verify.

    They must be numbered from `after` + 1 without gaps and be chained to `previous`, the hash of event `after`.
    `seals` maps the last seq of a run to its seal; a missing or wrong one only costs time.
    """
    at = 0
    total = len(rows)
    while at < total:
        expected = after + at + 1
        run = rows[at : at + RUN - (expected - 1) % RUN]
        if not _sealed(session, previous, expected, run, seals):
            good = _linked(session, previous, expected, run)
            if good < len(run):
                return at + good
        at += len(run)
        previous = run[-1][7]
    return total


def _sealed(session: str, previous: bytes, first: int, run: Sequence[Row], seals: Mapping[int, int]) -> bool:
    """Whether `run` is whole, has its seal, and is chained to the run before."""
    return (
        len(run) == RUN
        and run[0][0] == first
        and seals.get(first + RUN - 1) == seal(session, run)
        and link(previous, session, run[0]) == run[0][7]
    )


def _linked(session: str, previous: bytes, first: int, run: Sequence[Row]) -> int:
    """How many rows of `run` verify one by one."""
    buffer = bytearray()
    encode = _encoder.encode_into
    for index, (seq, event_id, kind, v, ts_ms, form, body, digest) in enumerate(run):
        encode((previous, session, seq, event_id, kind, v, ts_ms, form, body), buffer)
        if seq != first + index or hashlib.sha256(buffer).digest() != digest:
            return index
        previous = digest
    return len(run)
