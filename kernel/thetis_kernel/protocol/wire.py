"""Frames and the two kinds of message in them: an `Ask` has one answer, a `Tell` has none.

A frame is a u32 big-endian length and that many bytes of msgpack: one `Envelope`. Bodies inside requests and
replies are msgpack of their own, decoded by the receiver's vocabulary, unknown fields refused. Who sends is known
from the descriptor, never from a field.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, Union, get_args

import msgspec

PROTOCOL = 1
"""Raised with any incompatible change; both ends must say the same in `Hello`."""
MAX_FRAME = 8 * 1024 * 1024
"""Bytes of one frame's payload. Larger bodies travel as blobs by digest."""

R = TypeVar("R")


class Ask(msgspec.Struct, Generic[R], frozen=True, forbid_unknown_fields=True, tag_field="ask", omit_defaults=True):
    """A request whose answer has type R: `class Commit(Ask[Committed], frozen=True, tag="git.commit")`."""


class Tell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="tell", omit_defaults=True):
    """A message without an answer; it may be lost when the peer dies."""


def reply_type(ask: type[Ask[Any]]) -> Any:
    """The R of an `Ask[R]` class."""
    for base in getattr(ask, "__orig_bases__", ()):
        arguments = get_args(base)
        if arguments:
            return arguments[0]
    raise TypeError(f"{ask.__name__} does not say what its answer is")


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="hello"):
    """First frame each way: protocol number, kernel version, role of the sender, its process id.

    `token` proves to a control socket that the sender may read the file it is in; "" on inherited channels.
    """

    protocol: int
    version: str
    role: str
    pid: int
    token: str = ""


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="req"):
    """`body` is an encoded Ask; `timeout_ms` 0 means the caller waits for ever."""

    id: int
    body: msgspec.Raw
    timeout_ms: int = 0


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="ok"):
    """The answer to request `id`."""

    id: int
    body: msgspec.Raw


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="err"):
    """Request `id` failed: the error tree's fields, `data` as JSON text."""

    id: int
    code: str
    message: str
    hint: str = ""
    data: str = "{}"


class Withdraw(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="withdraw"):
    """The caller no longer waits for request `id`; the callee may stop working on it."""

    id: int


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="tell"):
    """`body` is an encoded Tell."""

    body: msgspec.Raw


class Ping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="ping"):
    """Are you there? Answered by the channel itself, not by handlers."""

    n: int


class Pong(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="pong"):
    """I am."""

    n: int


Envelope = Union[Hello, Request, Reply, Failure, Withdraw, Said, Ping, Pong]  # noqa: UP007 - a runtime Union for msgspec
