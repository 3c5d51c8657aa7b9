"""What one side of a channel understands: decoders for the bodies of requests, notices and answers.

Owns the step from bytes to typed values and back. It must not know of frames, sockets or handlers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar, Union

import msgspec

from thetis_kernel.errors import ProtocolError
from thetis_kernel.protocol.wire import Ask, Tell, reply_type

NOT_DECODABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, MemoryError)
"""What msgspec raises on hostile bytes: bad fields, nesting deeper than the stack, text that is not UTF-8, a size
no memory holds."""

NOT_ENCODABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What msgspec raises on values the wire cannot hold: foreign types, lone surrogates, integers over 64 bits, cycles."""

T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder()

OTHER_VERSION = "Both sides must be of one version of Thetis: quit the one that was started first, and start again."


class Vocabulary:
    """The requests and notices one side answers; everything else it is sent is refused.

    `asks` and `tells` are the classes themselves; within each, tags must differ (ValueError or TypeError otherwise).
    """

    def __init__(self, asks: Iterable[type[Ask[Any]]] = (), tells: Iterable[type[Tell]] = ()) -> None:
        self.asks = frozenset(asks)
        self.tells = frozenset(tells)
        self._ask_decoder: msgspec.msgpack.Decoder[Ask[Any]] | None = _union_decoder(self.asks)
        self._tell_decoder: msgspec.msgpack.Decoder[Tell] | None = _union_decoder(self.tells)

    def ask(self, body: msgspec.Raw) -> Ask[Any]:
        """The typed request in `body`. Raises ProtocolError on an unknown tag, an unknown field, a wrong type."""
        return self._decode(self._ask_decoder, body, "request")

    def tell(self, body: msgspec.Raw) -> Tell:
        """The typed notice in `body`. Raises ProtocolError as `ask` does."""
        return self._decode(self._tell_decoder, body, "notice")

    @staticmethod
    def _decode(decoder: msgspec.msgpack.Decoder[T] | None, body: msgspec.Raw, what: str) -> T:
        if decoder is None:
            raise ProtocolError(f"this side takes no {what} at all")
        try:
            return decoder.decode(body)
        except NOT_DECODABLE as error:
            raise ProtocolError(f"a {what} does not fit what this side understands: {error}", hint=OTHER_VERSION) from error


def encode_body(value: Any, what: str) -> msgspec.Raw:
    """`value` as msgpack. `what` names it in the ProtocolError raised when the wire cannot hold it."""
    try:
        return msgspec.Raw(_encoder.encode(value))
    except NOT_ENCODABLE as error:
        raise ProtocolError(f"{what} cannot be sent: {error}") from error


def decode_answer(ask: type[Ask[Any]], body: msgspec.Raw) -> Any:
    """The answer to an `ask`, as the type the class promises. Raises ProtocolError when it is something else."""
    try:
        return _answer_decoder(ask).decode(body)
    except NOT_DECODABLE as error:
        raise ProtocolError(f"the answer to {tag_of(ask)} is not what was promised: {error}", hint=OTHER_VERSION) from error


def tag_of(kind: type[Ask[Any]] | type[Tell]) -> str:
    """The name a request or notice has on the wire."""
    return str(kind.__struct_config__.tag)


@cache
def _answer_decoder(ask: type[Ask[Any]]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(reply_type(ask))


@cache
def _union_decoder(kinds: frozenset[type[Any]]) -> msgspec.msgpack.Decoder[Any] | None:
    """One decoder over all `kinds`; cached, since every connection of a role has the same ones."""
    return msgspec.msgpack.Decoder(Union[tuple(kinds)]) if kinds else None  # noqa: UP007 - a runtime Union for msgspec
