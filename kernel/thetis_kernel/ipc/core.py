"""One end of a channel without I/O: which calls are open, what each arriving frame means, what to send back.

Owns request ids, the hello and version check, and the mapping between exceptions and `Failure` frames. Both kinds of
peer (asyncio and threads) are this plus a way to move bytes. It must not know of sockets, loops, threads or handlers.

Rules the wire is held to, any breach of which raises ProtocolError and ends the channel: the first frame each way is
`Hello` with our protocol number, and there is one; request ids only grow, so a replayed frame is noticed; an answer
belongs to a request that was made; a notice is one this side takes. A request or an answer whose *body* does not fit
fails alone: its frame was sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Union

import msgspec

from thetis_kernel.errors import IpcError, ProtocolError, RemoteError, ThetisError
from thetis_kernel.ipc.framing import FrameReader, encode
from thetis_kernel.ipc.vocabulary import Vocabulary, decode_answer, encode_body, tag_of
from thetis_kernel.protocol.wire import (
    PROTOCOL,
    Ask,
    Envelope,
    Failure,
    Hello,
    Ping,
    Pong,
    Reply,
    Request,
    Said,
    Tell,
    Withdraw,
)

MAX_TEXT = 16 * 1024
"""Characters of an error's message or hint on the wire, so that a failure always fits in a frame."""
MAX_DATA = 256 * 1024
"""Bytes of an error's `data` on the wire; larger data is left out and said to be."""


class Greeted(msgspec.Struct, frozen=True):
    """The other end has said who it is, and fits."""

    hello: Hello


class Asked(msgspec.Struct, frozen=True):
    """A request to serve and answer with `reply` or `fail`. `timeout` in seconds, None = the caller waits for ever."""

    id: int
    ask: Ask[Any]
    timeout: float | None


class Told(msgspec.Struct, frozen=True):
    """A notice to handle."""

    tell: Tell


class Settled(msgspec.Struct, frozen=True):
    """One of our calls has its answer: `error` if it failed, else `value`."""

    id: int
    value: Any
    error: ThetisError | None


class Withdrawn(msgspec.Struct, frozen=True):
    """The caller of request `id` no longer waits; only said of requests still being served."""

    id: int


class Alive(msgspec.Struct, frozen=True):
    """The other end answered ping `n`."""

    n: int


class Send(msgspec.Struct, frozen=True):
    """Bytes the channel itself owes the other end."""

    frame: bytearray


Happening = Union[Greeted, Asked, Told, Settled, Withdrawn, Alive, Send]  # noqa: UP007 - as protocol.wire writes unions


class Core:
    """The state of one end. `me` is sent first; `other` names the other end in sentences.

    `admit`, when set, sees the other end's hello and may raise an IpcError to refuse it. `max_open` bounds the
    requests served at once; more are refused with code "overloaded".

    Threads: `receive` belongs to one reader; the methods that make frames for new calls must be called under the
    lock that also orders the writes; `reply`, `fail` and `forget` may be called from anywhere.
    """

    def __init__(
        self,
        me: Hello,
        vocabulary: Vocabulary,
        *,
        other: str,
        max_open: int = 1024,
    ) -> None:
        self.other = other
        self.max_open = max_open
        self.admit: Callable[[Hello], None] | None = None
        self.me = me
        self._vocabulary = vocabulary
        self._reader = FrameReader()
        self._greeted = False
        self._last_id = 0
        self._calls: dict[int, type[Ask[Any]]] = {}
        self._last_served = 0
        self._last_ping = 0
        self._serving: set[int] = set()

    # What this end sends

    def hello(self) -> bytearray:
        """The first frame to send."""
        return encode(self.me)

    def ask(self, ask: Ask[Any], timeout: float | None) -> tuple[int, bytearray]:
        """A new call: its id and frame. Raises ProtocolError, leaving no trace, when the request cannot be sent."""
        kind = type(ask)
        number = self._last_id + 1
        milliseconds = 0 if timeout is None else max(1, int(timeout * 1000))
        body = encode_body(ask, f"request {tag_of(kind)}")
        frame = encode(Request(number, body, milliseconds))
        self._last_id = number
        self._calls[number] = kind
        return number, frame

    def withdraw(self, number: int) -> bytearray | None:
        """Stop waiting for call `number`; the frame that says so, or None when it is already settled."""
        return encode(Withdraw(number)) if self._calls.pop(number, None) is not None else None

    def tell(self, tell: Tell) -> bytearray:
        """The frame of a notice. Raises ProtocolError when it cannot be sent."""
        return encode(Said(encode_body(tell, f"notice {tag_of(type(tell))}")))

    def ping(self, n: int) -> bytearray:
        """The frame that asks whether the other end is there."""
        self._last_ping = n
        return encode(Ping(n))

    def reply(self, number: int, ask: Ask[Any], value: Any) -> bytearray:
        """The frame that answers request `number`; a failure when `value` cannot be sent."""
        try:
            frame = encode(Reply(number, encode_body(value, f"the answer to {tag_of(type(ask))}")))
        except ProtocolError as error:
            return self.fail(number, error)
        self._serving.discard(number)
        return frame

    def fail(self, number: int, error: BaseException) -> bytearray:
        """The frame that says request `number` failed."""
        self._serving.discard(number)
        return encode(failure_of(number, error))

    def forget(self, number: int) -> None:
        """Request `number` needs no answer any more."""
        self._serving.discard(number)

    @property
    def open_calls(self) -> int:
        """Calls of ours without an answer."""
        return len(self._calls)

    @property
    def serving(self) -> int:
        """Requests of the other end without an answer."""
        return len(self._serving)

    @property
    def traffic(self) -> int:
        """Requests made and received so far."""
        return self._last_id + self._last_served

    @property
    def partial(self) -> bool:
        """Whether half a frame has arrived."""
        return self._reader.partial

    # What arrives

    def receive(self, data: bytes | bytearray | memoryview) -> Iterator[Happening]:
        """What `data` means, in order; iterate to the end. Raises ProtocolError when the channel is over."""
        for envelope in self._reader.feed(data):
            if not self._greeted:
                yield self._greet(envelope)
                continue
            happening = self._understand(envelope)
            if happening is not None:
                yield happening

    def _greet(self, envelope: Envelope) -> Greeted:
        if not isinstance(envelope, Hello):
            raise ProtocolError(f"{self.other} did not begin with a hello")
        if envelope.protocol != PROTOCOL:
            raise ProtocolError(
                f"{self.other} speaks protocol {envelope.protocol}, this side speaks {PROTOCOL}",
                hint="Both must run the same version of Thetis; restart the older one.",
                theirs=envelope.protocol,
                ours=PROTOCOL,
            )
        if self.admit is not None:
            self.admit(envelope)
        self._greeted = True
        return Greeted(envelope)

    def _understand(self, envelope: Envelope) -> Happening | None:
        match envelope:
            case Request():
                return self._asked(envelope)
            case Reply(id=number, body=body):
                return self._settle(number, body, None)
            case Failure():
                return self._settle(envelope.id, None, error_of(envelope))
            case Said(body=body):
                return Told(self._vocabulary.tell(body))
            case Withdraw(id=number):
                return Withdrawn(number) if number in self._serving else None
            case Ping(n=n):
                return Send(encode(Pong(n)))
            case Pong(n=n):
                if not 0 < n <= self._last_ping:
                    raise ProtocolError(f"{self.other} answered a ping that was never sent")
                return Alive(n)
            case Hello():
                raise ProtocolError(f"{self.other} said hello twice")

    def _asked(self, request: Request) -> Asked | Send:
        if request.id <= self._last_served:
            raise ProtocolError(f"{self.other} used request number {request.id} again")
        self._last_served = request.id
        if len(self._serving) >= self.max_open:
            refusal = IpcError(f"{self.max_open} requests are open already", code="overloaded")
            return Send(encode(failure_of(request.id, refusal)))
        try:
            ask = self._vocabulary.ask(request.body)
        except ProtocolError as error:
            return Send(encode(failure_of(request.id, error)))
        self._serving.add(request.id)
        return Asked(request.id, ask, request.timeout_ms / 1000 if request.timeout_ms > 0 else None)

    def _settle(self, number: int, body: msgspec.Raw | None, error: ThetisError | None) -> Settled | None:
        if not 0 < number <= self._last_id:
            raise ProtocolError(f"{self.other} answered request {number}, which was never made")
        kind = self._calls.pop(number, None)
        if kind is None:
            return None  # withdrawn while the answer was under way
        if body is None:
            return Settled(number, None, error)
        try:
            return Settled(number, decode_answer(kind, body), None)
        except ProtocolError as misfit:
            return Settled(number, None, misfit)


def failure_of(number: int, error: BaseException) -> Failure:
    """How `error` crosses. An error of our tree keeps code, message, hint and data; of any other only the type's name
    crosses, since its text may hold anything."""
    if not isinstance(error, ThetisError):
        return Failure(number, "internal", f"An unexpected {type(error).__name__} stopped the request.")
    return Failure(number, error.code[:100], _text(error.message), _text(error.hint), _data(error.data))


def error_of(failure: Failure) -> RemoteError:
    """The exception a `Failure` comes back as: its code, message, hint and data. Raises ProtocolError on bad data."""
    try:
        data = msgspec.json.decode(failure.data, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as misfit:
        raise ProtocolError(f"the data of failure {failure.code} cannot be read: {misfit}") from misfit
    error = RemoteError(failure.message, hint=failure.hint, code=failure.code)
    error.data = data
    return error


def _text(text: str) -> str:
    """Bounded, and without what UTF-8 cannot hold."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")


def _data(data: dict[str, Any]) -> str:
    try:
        encoded = msgspec.json.encode(data, enc_hook=str)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return _omitted(f"not JSON ({type(error).__name__})")
    return encoded.decode() if len(encoded) <= MAX_DATA else _omitted(f"{len(encoded)} bytes")


def _omitted(why: str) -> str:
    return msgspec.json.encode({"omitted": why}).decode()
