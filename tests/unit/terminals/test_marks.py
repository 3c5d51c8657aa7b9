"""The mark of a command's end is found in any pieces, only with the right nonce, and costs no byte of the output."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.toolhost.terminals.marks import Marker
from thetis_kernel.toolhost.terminals.shell import MARK, Report, line, report

NONCE = "0123456789abcdef"
SEQUENCE = f"\x1b]{MARK};{NONCE}\x07".encode()
PIECES = st.lists(
    st.one_of(st.binary(max_size=8), st.sampled_from([b"\x1b", b"\x1b]", b"\x1b]7770;", SEQUENCE[:-1], SEQUENCE[1:]])),
    max_size=12,
)


@given(PIECES, PIECES, st.integers(1, 9))
def test_before_and_after(before: list[bytes], after: list[bytes], size: int) -> None:
    first = b"".join(before)
    data = first + SEQUENCE + b"".join(after)
    known = data.index(SEQUENCE)  # the pieces may make the mark by themselves
    marker, heard, rest = Marker(NONCE), b"", b""
    for at in range(0, len(data), size):
        one, two = marker.feed(data[at : at + size])
        heard, rest = heard + one, rest + two
    assert marker.seen and heard == data[:known] and rest == data[known + len(SEQUENCE) :]


@given(PIECES.filter(lambda pieces: SEQUENCE not in b"".join(pieces)), st.integers(1, 9))
def test_without_a_mark_everything_passes(pieces: list[bytes], size: int) -> None:
    data, marker, heard = b"".join(pieces), Marker(NONCE), b""
    for at in range(0, len(data), size):
        one, two = marker.feed(data[at : at + size])
        heard += one
        assert two == b""
    assert heard + marker.end() == data and not marker.seen


def test_another_nonce_is_no_mark() -> None:
    marker = Marker(NONCE)
    other = SEQUENCE.replace(b"0", b"f")
    assert marker.feed(other)[0] + marker.end() == other and not marker.seen


@given(st.binary(max_size=200))
def test_a_report_is_one_or_it_is_nothing(data: bytes) -> None:
    found = report(data)
    assert found is None or (0 <= found.code <= 999 and isinstance(found.cwd, str))


def test_reports_and_lines() -> None:
    assert report(b"7 130 1 /a b/c\xff") == Report(number=7, code=130, gone=True, cwd="/a b/c�")
    assert report(b"ready") is None and report(b"7 1300 0 /") is None
    assert line(3, NONCE, "a\nb", False) == f"3 {NONCE} plain 2\na\nb\n".encode()
