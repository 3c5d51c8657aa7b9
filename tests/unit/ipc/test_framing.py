"""Frames survive any chunking; anything that is no frame is an error at once."""

from __future__ import annotations

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import ProtocolError
from thetis_kernel.ipc.framing import FrameReader, encode
from thetis_kernel.protocol.wire import (
    MAX_FRAME,
    Envelope,
    Failure,
    Hello,
    Ping,
    Pong,
    Reply,
    Request,
    Said,
    Withdraw,
)

numbers = st.integers(min_value=0, max_value=2**63 - 1)
texts = st.text(max_size=300)
bodies = st.binary(max_size=2000).map(lambda data: msgspec.Raw(msgspec.msgpack.encode(data)))
envelopes = st.one_of(
    st.builds(Hello, protocol=numbers, version=texts, role=texts, pid=numbers, token=texts),
    st.builds(Request, id=numbers, body=bodies, timeout_ms=numbers),
    st.builds(Reply, id=numbers, body=bodies),
    st.builds(Failure, id=numbers, code=texts, message=texts, hint=texts, data=texts),
    st.builds(Withdraw, id=numbers),
    st.builds(Said, body=bodies),
    st.builds(Ping, n=numbers),
    st.builds(Pong, n=numbers),
)


def plain(envelope: Envelope) -> dict[str, object]:
    """Comparable: msgspec.Raw compares by identity."""
    fields = msgspec.structs.asdict(envelope)
    return {"type": type(envelope), **{k: bytes(v) if isinstance(v, msgspec.Raw) else v for k, v in fields.items()}}


@given(st.lists(envelopes, max_size=8), st.data())
def test_any_chunking_gives_the_same_messages(sent: list[Envelope], data: st.DataObject) -> None:
    stream = b"".join(bytes(encode(envelope)) for envelope in sent)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20).map(sorted))
    reader, got = FrameReader(), []
    for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += list(reader.feed(stream[start:stop]))
    assert [plain(e) for e in got] == [plain(e) for e in sent]
    assert not reader.partial


@given(st.lists(envelopes, min_size=1, max_size=4), st.binary(min_size=4, max_size=200))
def test_good_messages_before_a_bad_one_are_delivered(sent: list[Envelope], tail: bytes) -> None:
    stream = b"".join(bytes(encode(envelope)) for envelope in sent) + struct.pack(">I", 0) + tail
    reader, got = FrameReader(), []
    with pytest.raises(ProtocolError):
        for envelope in reader.feed(stream):
            got.append(envelope)
    assert [plain(e) for e in got] == [plain(e) for e in sent]
    with pytest.raises(ProtocolError):  # and it stays over
        list(reader.feed(bytes(encode(Ping(1)))))


@given(st.binary(max_size=400))
def test_noise_is_messages_or_a_protocol_error(noise: bytes) -> None:
    """Also with a sound length before it, so that the bytes reach the decoder."""
    for stream in (noise, struct.pack(">I", max(1, len(noise))) + noise):
        try:
            list(FrameReader().feed(stream))
        except ProtocolError:
            pass


@pytest.mark.parametrize("length", [0, MAX_FRAME + 1, 2**31, 2**32 - 1])
def test_a_bad_length_is_refused_from_the_header_alone(length: int) -> None:
    with pytest.raises(ProtocolError, match=str(length)):
        list(FrameReader().feed(struct.pack(">I", length)))


@pytest.mark.parametrize(
    "payload",
    [
        b"\xc1",  # never used in msgpack
        b"\x91" * 200_000 + b"\x90",
        msgspec.msgpack.encode(Said(msgspec.Raw(b"\x91" * 200_000 + b"\x90"))),  # nested deeper than the stack
        b"\xdd\xff\xff\xff\xff",  # an array that claims 4 billion items
        b"\xdf\xff\xff\xff\xff",
        msgspec.msgpack.encode({"type": "ping", "n": 1, "more": 2}),  # an unknown field
        msgspec.msgpack.encode({"type": "what"}),
        msgspec.msgpack.encode({"type": "ping", "n": "1"}),
        msgspec.msgpack.encode({"n": 1}),
        b"\x82\xa4type\xa4ping\xa1n\x01\x00",  # a byte too many
        b"\x81\xa4type\xa2\xff\xff",  # not UTF-8
    ],
)
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(FrameReader().feed(struct.pack(">I", len(payload)) + payload))


def test_the_limit_holds_when_sending_and_is_exact() -> None:
    empty = len(encode(Said(msgspec.Raw(b"")))) - 4
    whole = encode(Said(msgspec.Raw(b"\xc6" + struct.pack(">I", MAX_FRAME - empty - 5) + bytes(MAX_FRAME - empty - 5))))
    assert len(whole) == 4 + MAX_FRAME
    assert len(list(FrameReader().feed(whole))) == 1
    with pytest.raises(ProtocolError, match="blobs"):
        encode(Said(msgspec.Raw(b"\xc6" + struct.pack(">I", MAX_FRAME) + bytes(MAX_FRAME))))


def test_half_a_message_is_known_to_be_one() -> None:
    reader, frame = FrameReader(), bytes(encode(Ping(7)))
    for cut in range(1, len(frame)):
        assert list(reader.feed(frame[cut - 1 : cut])) == []
        assert reader.partial
    assert list(reader.feed(frame[-1:])) == [Ping(7)]
    assert not reader.partial
