"""The hash chain (R4): one released encoding, and no change to a row goes unseen."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.store import chain

SESSION = "0123456789abcdef"


def rows(count: int, first: int = 1, previous: bytes = chain.ZERO) -> list[chain.Row]:
    made: list[chain.Row] = []
    for seq in range(first, first + count):
        columns = (seq, f"e{seq}", "user", 1, 1000 + seq, 0, b'{"kind":"user","text":"%d"}' % seq)
        previous = chain.link(previous, SESSION, columns)
        made.append((*columns, previous))
    return made


def seals(of: list[chain.Row]) -> dict[int, int]:
    """The seals a writer would have made."""
    return {
        row[0]: chain.seal(SESSION, of[index - chain.RUN + 1 : index + 1])
        for index, row in enumerate(of)
        if row[0] % chain.RUN == 0 and index >= chain.RUN - 1
    }


def test_the_encoding_is_the_released_one():
    """Changing it would make every existing log look damaged."""
    digest = chain.link(bytes(32), SESSION, (7, "an-id", "user", 1, 1_700_000_000_000, 0, b'{"kind":"user"}'))
    by_hand = b"\x99\xc4\x20" + bytes(32) + b"\xb0" + SESSION.encode() + b"\x07\xa5an-id\xa4user\x01"
    by_hand += b"\xcf" + (1_700_000_000_000).to_bytes(8, "big") + b'\x00\xc4\x0f{"kind":"user"}'
    assert digest == hashlib.sha256(by_hand).digest()



@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128, 200])
def test_a_sound_log_is_sound_with_and_without_seals(count):
    log = rows(count)
    assert chain.sound(SESSION, chain.ZERO, 0, log, {}) == count
    assert chain.sound(SESSION, chain.ZERO, 0, log, seals(log)) == count


@given(st.integers(0, 199), st.integers(0, 7), st.booleans(), st.integers(1, 199))
def test_any_change_is_found_where_it_is(at, column, sealed, start):
    log = rows(200)
    marks = seals(log) if sealed else {}
    start = min(start, at)
    row = list(log[at])
    value = row[column]
    row[column] = value + 1 if isinstance(value, int) else value[:-1] + (b"\0" if isinstance(value, bytes) else "?")
    log[at] = tuple(row)
    previous = log[start - 1][7] if start else chain.ZERO
    good = chain.sound(SESSION, previous, start, log[start:], marks)
    assert start + good == at, "everything before it is good, it is not"


@given(st.integers(0, 198))
def test_a_missing_or_doubled_row_is_found(at):
    log = rows(200)
    assert chain.sound(SESSION, chain.ZERO, 0, log[:at] + log[at + 1 :], seals(log)) == at
    assert chain.sound(SESSION, chain.ZERO, 0, log[: at + 1] + log[at:], seals(log)) == at + 1


def test_a_wrong_seal_alone_is_no_damage():
    log = rows(128)
    assert chain.sound(SESSION, chain.ZERO, 0, log, {64: 0, 128: 1}) == 128


def test_a_sealed_run_of_another_log_does_not_fit():
    log, other = rows(128), rows(128, previous=bytes([1] * 32))
    mixed = log[:64] + other[64:]
    marks = seals(log) | {128: seals(other)[128]}
    assert chain.sound(SESSION, chain.ZERO, 0, mixed, marks) == 64


def test_another_session_breaks_it():
    log = rows(70)
    assert chain.sound("f" * 16, chain.ZERO, 0, log, seals(log)) == 0
