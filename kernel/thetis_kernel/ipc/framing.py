"""Frames without I/O: bytes in any pieces become Envelopes, an Envelope becomes bytes.

Owns the length prefix and its limits. It must not know what an Envelope means or where bytes come from.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from thetis_kernel.errors import ProtocolError
from thetis_kernel.ipc.vocabulary import NOT_DECODABLE, NOT_ENCODABLE
from thetis_kernel.protocol.wire import MAX_FRAME, Envelope

_HEADER = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Envelope] = msgspec.msgpack.Decoder(Envelope)


def encode(envelope: Envelope) -> bytearray:
    """The frame of `envelope`. Raises ProtocolError when it is over MAX_FRAME or holds what msgpack cannot."""
    frame = bytearray(_HEADER.size)
    try:
        _encoder.encode_into(envelope, frame, _HEADER.size)
    except NOT_ENCODABLE as error:
        raise ProtocolError(f"a {type(envelope).__name__} cannot be sent: {error}") from error
    length = len(frame) - _HEADER.size
    if length > MAX_FRAME:
        raise ProtocolError(
            f"a message of {length} bytes is over the limit of {MAX_FRAME}",
            hint="Larger bodies travel as blobs by digest.",
            size=length,
        )
    _HEADER.pack_into(frame, 0, length)
    return frame


class FrameReader:
    """Collects bytes and hands out whole Envelopes. Holds at most one frame and one piece of the next.

    After it has raised, every further `feed` raises the same error: a stream that lost its frame borders is over.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._error: ProtocolError | None = None

    @property
    def partial(self) -> bool:
        """Whether a frame has begun that is not complete."""
        return bool(self._held)

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[Envelope]:
        """Every Envelope completed by `data`, in order; iterate to the end.

        Raises ProtocolError, after the good frames before it, on a length of 0 or over MAX_FRAME (as soon as the
        header is there) and on bytes that are no Envelope.
        """
        if self._error is not None:
            raise self._error
        self._held += data
        start, end = 0, len(self._held)
        try:
            while end - start >= _HEADER.size:
                (length,) = _HEADER.unpack_from(self._held, start)
                if not 0 < length <= MAX_FRAME:
                    raise ProtocolError(f"a frame claims {length} bytes; 1 to {MAX_FRAME} are allowed", size=length)
                stop = start + _HEADER.size + length
                if stop > end:
                    break
                payload = bytes(memoryview(self._held)[start + _HEADER.size : stop])
                start = stop
                yield _decode(payload)
        except ProtocolError as error:
            self._error = error
            start = end
            raise
        finally:
            del self._held[:start]


def _decode(payload: bytes) -> Envelope:
    try:
        return _decoder.decode(payload)
    except NOT_DECODABLE as error:
        raise ProtocolError(f"{len(payload)} bytes are not a message: {error}") from error
