"""`AsyncPeer`: one end of a channel on an asyncio loop, as the gateway and its clients have it.

Owns the transport, the tasks that serve requests, and when a channel is cut. It must not know who is at the other
end, nor what requests mean. Everything here belongs to the loop's thread.

Order: notices and answers are delivered in the order they were sent, so what is told before an answer is heard
before the call returns. Requests start in the order they came, but a notice may overtake a request before it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from thetis_kernel import __version__
from thetis_kernel.errors import Cancelled, DeadlineExceeded, IpcError, PeerGone, ProtocolError, ThetisError
from thetis_kernel.ipc.core import Alive, Asked, Core, Greeted, Happening, Send, Settled, Told, Withdrawn
from thetis_kernel.ipc.vocabulary import Vocabulary, tag_of
from thetis_kernel.protocol.wire import PROTOCOL, Ask, Hello, Tell

R = TypeVar("R")
AskHandlers = Mapping[type[Ask[Any]], Callable[[Any], Awaitable[Any]]]
"""Request class -> coroutine function that answers it; cancelled when the caller withdraws or the channel ends."""
TellHandlers = Mapping[type[Tell], Callable[[Any], None]]
"""Notice class -> plain function; runs at once, in order, on the loop."""
Unexpected = Callable[[str, BaseException], None]
"""Told of each exception outside the error tree: what was being done, and the exception."""

_READ_SIZE = 256 * 1024


class Limits(msgspec.Struct, frozen=True):
    """When a channel is cut. Bytes and seconds; None = never.

    `unread`: bytes waiting for an end that does not read. `congested`: bytes from which `congested` is true and
    `drained` waits. `open_requests`: served at once, more are refused. `stall`: half a frame and then silence.
    `hello`: connected and no hello.
    """

    unread: int = 32 * 1024 * 1024
    congested: int = 1024 * 1024
    open_requests: int = 1024
    stall: float | None = None
    hello: float | None = None


CHILD = Limits()
"""For processes we started: heartbeats find the ones that hang."""
STRANGER = Limits(open_requests=256, stall=1.0, hello=1.0)
"""For whoever connects to a socket (reliability S8: closed within 1 s)."""


class AsyncPeer(asyncio.BufferedProtocol):
    """One end of a channel. Make it, then `await peer.attach(sock)`.

    `role` is what this end calls itself; `other` names the other end in sentences.
    """

    def __init__(
        self,
        *,
        role: str,
        other: str,
        asks: AskHandlers | None = None,
        tells: TellHandlers | None = None,
        on_unexpected: Unexpected | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.other = other
        self.closed: asyncio.Future[IpcError] = loop.create_future()
        """Done with the reason once the channel is over. Wait with `wait_closed`, so that nobody cancels it."""
        self._loop = loop
        self._asks = dict(asks or {})
        self._tells = dict(tells or {})
        self._limits = CHILD
        self._unexpected = on_unexpected or self._report
        me = Hello(protocol=PROTOCOL, version=__version__, role=role, pid=os.getpid())
        self._core = Core(me, Vocabulary(self._asks, self._tells), other=other)
        self._greeted: asyncio.Future[Hello] = loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray(_READ_SIZE)
        self._waiters: dict[int, asyncio.Future[Any]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._pings = 0
        self._pongs = 0
        self._room = asyncio.Event()
        self._room.set()
        self._heard = loop.time()
        self._watch: asyncio.TimerHandle | None = None

    async def attach(
        self,
        sock: socket.socket,
        *,
        limits: Limits = CHILD,
        token: str = "",
        admit: Callable[[Hello], None] | None = None,
    ) -> None:
        """Take over a connected stream socket and say hello, with `token`. `admit` may refuse the other end's hello
        by raising IpcError. Raises OSError when the socket is unusable."""
        self._limits = limits
        self._core.me = msgspec.structs.replace(self._core.me, token=token)
        self._core.max_open = limits.open_requests
        self._core.admit = admit
        sock.setblocking(False)
        await self._loop.create_unix_connection(lambda: self, sock=sock)

    # Calls and notices

    async def call(self, ask: Ask[R], *, timeout: float | None = 60.0) -> R:
        """The answer to `ask`; `timeout` in seconds, None = as long as it takes.

        Raises RemoteError when the other end says no, DeadlineExceeded, PeerGone, ProtocolError when request or
        answer does not fit. Cancelling the call withdraws the request.
        """
        self._check_open()
        number, frame = self._core.ask(ask, timeout)
        waiter: asyncio.Future[R] = self._loop.create_future()
        self._waiters[number] = waiter
        expiry = None if timeout is None else self._loop.call_later(timeout, self._expire, number, tag_of(type(ask)))
        try:
            self._write(frame)
            return await waiter
        except asyncio.CancelledError:
            self._withdraw(number)
            raise
        finally:
            self._waiters.pop(number, None)
            if expiry is not None:
                expiry.cancel()

    def tell(self, tell: Tell) -> None:
        """Send a notice. It may be lost when the other end dies. Raises PeerGone when the channel is over already."""
        self._check_open()
        self._write(self._core.tell(tell))

    @property
    def congested(self) -> bool:
        """Whether the other end reads more slowly than we write: the time to drop what may be dropped."""
        return not self._room.is_set()

    async def drained(self) -> None:
        """Wait until the other end has read most of what was sent. Raises PeerGone when the channel ends first."""
        await self._room.wait()
        self._check_open()

    async def greeted(self) -> Hello:
        """The other end's hello. Raises the reason when the channel ends before it."""
        return await asyncio.shield(self._greeted)

    def ping(self) -> None:
        """Ask the other end's channel, not its handlers, for a sign of life; it shows in `pongs`."""
        self._check_open()
        self._pings += 1
        self._write(self._core.ping(self._pings))

    @property
    def pongs(self) -> int:
        """Pings answered so far."""
        return self._pongs

    @property
    def traffic(self) -> int:
        """Requests made and received so far: grows exactly when the channel is used for something."""
        return self._core.traffic

    @property
    def open_calls(self) -> int:
        """Calls of ours that wait for an answer."""
        return self._core.open_calls

    @property
    def serving(self) -> int:
        """Requests of the other end being served."""
        return self._core.serving

    def close(self, reason: IpcError | None = None) -> None:
        """End the channel now; what was written and not sent yet is dropped. Closing twice is fine."""
        self._end(reason or PeerGone(f"the channel to {self.other} was closed on this side"))

    async def close_gently(self, timeout: float = 1.0) -> None:
        """End the channel once everything written has left, or after `timeout` seconds."""
        if self._transport is not None and not self.closed.done():
            self._transport.close()
            await asyncio.wait([self.closed], timeout=timeout)
        self.close()

    async def wait_closed(self) -> IpcError:
        """Why the channel ended, once it has."""
        return await asyncio.shield(self.closed)

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(f"a channel needs a stream transport, not {type(transport).__name__}")
        if self.closed.done():
            transport.abort()
            return
        self._transport = transport
        transport.set_write_buffer_limits(high=self._limits.congested)
        self._heard = self._loop.time()
        self._write(self._core.hello())
        if self._limits.hello is not None:
            self._watch = self._loop.call_later(self._limits.hello, self._expect_hello)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._heard = self._loop.time()
        try:
            for happening in self._core.receive(memoryview(self._buffer)[:nbytes]):
                self._handle(happening)
                if self.closed.done():
                    return
        except IpcError as error:
            self._end(error)
            return
        if self._limits.stall is not None and self._watch is None and self._core.partial:
            self._watch = self._loop.call_later(self._limits.stall, self._expect_rest)

    def eof_received(self) -> None:
        self._end(PeerGone(f"{self.other} is gone"))

    def connection_lost(self, exc: Exception | None) -> None:
        why = f" ({exc})" if exc is not None and not isinstance(exc, ConnectionError) else ""
        self._end(PeerGone(f"{self.other} is gone{why}"))

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    # What arrives

    def _handle(self, happening: Happening) -> None:
        match happening:
            case Settled():
                self._settle(happening)
            case Asked(id=number):
                self._tasks[number] = self._loop.create_task(self._serve(happening))
            case Told(tell=tell):
                self._hear(tell)
            case Send(frame=frame):
                self._write(frame)
            case Withdrawn(id=number):
                self._core.forget(number)
                withdrawn = self._tasks.pop(number, None)
                if withdrawn is not None:
                    withdrawn.cancel()
            case Alive():
                self._pongs += 1
            case Greeted(hello=hello):
                if self._watch is not None:
                    self._watch.cancel()
                    self._watch = None
                self._greeted.set_result(hello)

    def _settle(self, settled: Settled) -> None:
        waiter = self._waiters.get(settled.id)
        if waiter is None or waiter.done():
            return
        if settled.error is not None:
            waiter.set_exception(settled.error)
        else:
            waiter.set_result(settled.value)

    async def _serve(self, asked: Asked) -> None:
        kind = type(asked.ask)
        try:
            answer = await self._asks[kind](asked.ask)
        except asyncio.CancelledError:
            if asked.id in self._tasks:  # else the caller withdrew and hears no more of it
                self._answer(self._core.fail(asked.id, Cancelled(f"{tag_of(kind)} was cancelled where it was served")))
            raise
        except ThetisError as error:
            self._answer(self._core.fail(asked.id, error))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is the caller's to hear and ours to report
            self._unexpected(f"serving {tag_of(kind)} for {self.other}", error)
            self._answer(self._core.fail(asked.id, error))
        else:
            self._answer(self._core.reply(asked.id, asked.ask, answer))
        finally:
            self._tasks.pop(asked.id, None)

    def _answer(self, frame: bytearray) -> None:
        if not self.closed.done():
            self._write(frame)

    def _hear(self, tell: Tell) -> None:
        try:
            self._tells[type(tell)](tell)
        except Exception as error:  # noqa: BLE001 - a notice has nobody to answer to; the channel must go on
            self._unexpected(f"hearing {tag_of(type(tell))} from {self.other}", error)

    def _report(self, what: str, error: BaseException) -> None:
        self._loop.call_exception_handler({"message": f"unexpected error while {what}", "exception": error})

    # Cutting and ending

    def _write(self, frame: bytearray) -> None:
        transport = self._transport
        if transport is None:
            return
        transport.write(frame)
        waiting = transport.get_write_buffer_size()
        if waiting > self._limits.unread:
            self._end(PeerGone(f"{self.other} does not read: {waiting} bytes were waiting for it", code="peer-slow"))

    def _expire(self, number: int, tag: str) -> None:
        waiter = self._waiters.get(number)
        if waiter is not None and not waiter.done():
            waiter.set_exception(DeadlineExceeded(f"{self.other} did not answer {tag} in time"))
            self._withdraw(number)

    def _withdraw(self, number: int) -> None:
        frame = self._core.withdraw(number)
        if frame is not None and not self.closed.done():
            self._write(frame)

    def _expect_hello(self) -> None:
        self._watch = None
        self._end(ProtocolError(f"{self.other} connected and said nothing"))

    def _expect_rest(self) -> None:
        """A frame was incomplete when this was set. Measured from the last byte, so a slow sender is not cut."""
        self._watch = None
        stall = self._limits.stall
        if stall is None or not self._core.partial:
            return
        left = self._heard + stall - self._loop.time()
        if left > 0:
            self._watch = self._loop.call_later(left, self._expect_rest)
        else:
            self._end(ProtocolError(f"{self.other} stopped in the middle of a message"))

    def _check_open(self) -> None:
        if self.closed.done():
            reason = self.closed.result()
            raise PeerGone(reason.message, code=reason.code, hint=reason.hint)
        if self._transport is None:
            raise PeerGone(f"the channel to {self.other} has not been opened")

    def _end(self, reason: IpcError) -> None:
        if self.closed.done():
            return
        self.closed.set_result(reason)
        if self._watch is not None:
            self._watch.cancel()
        if self._transport is not None:
            self._transport.abort()
        for waiter in (*self._waiters.values(), self._greeted):
            if not waiter.done():
                waiter.set_exception(PeerGone(reason.message, code=reason.code, hint=reason.hint))
        if not self._greeted.cancelled():
            self._greeted.exception()  # looked at here, since nobody need wait for a hello
        serving, self._tasks = self._tasks, {}
        for task in serving.values():
            task.cancel()
        self._room.set()
