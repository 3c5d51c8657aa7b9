"""`ThreadPeer`: one end of a channel for a process without an event loop, as every child has it.

Owns a reader thread, one daemon thread for each request being served, and the lock around writes. It must not know
who is at the other end, nor what requests mean.

A request runs on a thread of its own so that a slow one never holds up another, and there is no pool to run dry:
six parents waiting for children have deadlocked one. Handlers named in `quick`, and all notices, run on the reader
thread: they must return at once and must not call the other end.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from thetis_kernel import __version__
from thetis_kernel.errors import Cancelled, DeadlineExceeded, IpcError, PeerGone, ThetisError
from thetis_kernel.ipc.core import Asked, Core, Greeted, Happening, Send, Settled, Told, Withdrawn
from thetis_kernel.ipc.vocabulary import Vocabulary, tag_of
from thetis_kernel.protocol.wire import PROTOCOL, Ask, Hello, Tell

R = TypeVar("R")
_READ_SIZE = 256 * 1024
_CANCEL_POLL = 0.05
"""Seconds between looks at a caller's `cancel` event: a plain Event cannot be waited for beside an answer."""


class Serving:
    """One request being served, as its handler sees it.

    `withdrawn` is set once nobody waits for the answer: the caller took the request back, or the channel ended.
    `deadline` is the monotonic second after which the caller has given up, None when it waits for ever.
    """

    def __init__(self, deadline: float | None) -> None:
        self.withdrawn = threading.Event()
        self.deadline = deadline

    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise Cancelled when the answer is no longer wanted."""
        if self.withdrawn.is_set():
            raise Cancelled("the caller took the request back")


AskHandlers = Mapping[type[Ask[Any]], Callable[[Any, Serving], Any]]
"""Request class -> function of the request and its `Serving` that returns the answer."""
TellHandlers = Mapping[type[Tell], Callable[[Any], None]]
"""Notice class -> function; runs on the reader thread, in order."""
Unexpected = Callable[[str, BaseException], None]


class _Waiter:
    """One thread waiting for one answer."""

    __slots__ = ("_settled", "error", "value")

    def __init__(self) -> None:
        self._settled = threading.Lock()
        self._settled.acquire()
        self.value: Any = None
        self.error: ThetisError | None = None

    def settle(self, value: Any, error: ThetisError | None) -> None:
        """Called once, by whoever removed this waiter from the table."""
        self.value, self.error = value, error
        self._settled.release()

    def wait(self, seconds: float) -> bool:
        return self._settled.acquire(timeout=seconds)


class ThreadPeer:
    """One end of a channel. Make it with a connected stream socket, then `start()`.

    `role` is what this end calls itself, `other` names the other end. `on_gone` is called once, on the thread that
    noticed, when the channel is over; it must not use the channel.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        role: str,
        other: str,
        asks: AskHandlers | None = None,
        tells: TellHandlers | None = None,
        quick: Collection[type[Ask[Any]]] = (),
        max_open: int = 256,
        on_gone: Callable[[IpcError], None] | None = None,
        on_unexpected: Unexpected | None = None,
    ) -> None:
        self.other = other
        self._sock = sock
        self._asks = dict(asks or {})
        self._tells = dict(tells or {})
        self._quick = frozenset(quick)
        self._on_gone = on_gone
        self._unexpected = on_unexpected or _to_stderr
        me = Hello(protocol=PROTOCOL, version=__version__, role=role, pid=os.getpid())
        self._core = Core(me, Vocabulary(self._asks, self._tells), other=other, max_open=max_open)
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._waiters: dict[int, _Waiter] = {}
        self._served: dict[int, Serving] = {}
        self._gone: IpcError | None = None
        self._ended = threading.Event()
        self._greeted = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"channel to {other}", daemon=True)

    def start(self) -> None:
        """Say hello and begin to read."""
        self._sock.setblocking(True)
        with self._writing:
            self._send(self._core.hello())
        self._reader.start()

    # Calls and notices

    def call(self, ask: Ask[R], *, timeout: float | None = 60.0, cancel: threading.Event | None = None) -> R:
        """The answer to `ask`; blocks this thread for at most `timeout` seconds, None = as long as it takes.

        Raises RemoteError when the other end says no, DeadlineExceeded, Cancelled once `cancel` is set, PeerGone,
        ProtocolError when request or answer does not fit. Any number of threads may call at once, except the reader.
        """
        if threading.current_thread() is self._reader:
            raise RuntimeError(f"{tag_of(type(ask))} was called from the thread that would have to read its answer")
        waiter = _Waiter()
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._writing:
            number, frame = self._core.ask(ask, timeout)
            with self._state:
                if self._gone is not None:
                    raise self._reason(self._gone)
                self._waiters[number] = waiter
            self._send(frame)
        self._wait(number, waiter, deadline, cancel, tag_of(type(ask)))
        if waiter.error is not None:
            raise waiter.error
        answer: R = waiter.value
        return answer

    def tell(self, tell: Tell) -> None:
        """Send a notice; blocks while the other end does not read. Raises PeerGone when the channel is over already."""
        frame = self._core.tell(tell)
        with self._writing:
            if self._gone is not None:
                raise self._reason(self._gone)
            self._send(frame)

    @property
    def serving(self) -> int:
        """Requests of the other end being served."""
        return len(self._served)

    def close(self, reason: IpcError | None = None) -> None:
        """End the channel; every waiting call raises. Closing twice is fine."""
        self._end(reason or PeerGone(f"the channel to {self.other} was closed on this side"))

    def wait_greeted(self, timeout: float) -> bool:
        """Whether the other end has said hello within `timeout` seconds."""
        return self._greeted.wait(timeout)

    def wait_closed(self, timeout: float | None = None) -> IpcError | None:
        """Why the channel ended, once it has; None when `timeout` seconds passed before that."""
        self._ended.wait(timeout)
        return self._gone

    def _wait(
        self, number: int, waiter: _Waiter, deadline: float | None, cancel: threading.Event | None, tag: str
    ) -> None:
        while True:
            left = -1.0 if deadline is None else deadline - time.monotonic()
            if deadline is not None and left <= 0:
                return self._give_up(number, waiter, DeadlineExceeded(f"{self.other} did not answer {tag} in time"))
            if cancel is None:
                slice_ = left
            elif cancel.is_set():
                return self._give_up(number, waiter, Cancelled(f"{tag} was taken back"))
            else:
                slice_ = _CANCEL_POLL if deadline is None else min(left, _CANCEL_POLL)
            if waiter.wait(slice_):
                return None

    def _give_up(self, number: int, waiter: _Waiter, error: IpcError) -> None:
        """Stop waiting; an answer that has come in the meantime wins."""
        with self._state:
            mine = self._waiters.pop(number, None)
        if mine is None:
            waiter.wait(-1)
            return
        with self._writing:
            frame = self._core.withdraw(number)
            if frame is not None and self._gone is None:
                self._send(frame)
        waiter.settle(None, error)

    # What arrives

    def _read(self) -> None:
        buffer = bytearray(_READ_SIZE)
        view = memoryview(buffer)
        try:
            while size := self._sock.recv_into(buffer):
                for happening in self._core.receive(view[:size]):
                    self._handle(happening)
        except IpcError as error:
            self._end(error)
        except OSError:
            self._end(PeerGone(f"{self.other} is gone"))
        except Exception as error:  # noqa: BLE001 - without its reader a channel would be silent for ever
            self._end(IpcError(f"reading from {self.other} failed: {type(error).__name__}", code="internal"))
            self._unexpected(f"reading from {self.other}", error)
        else:
            self._end(PeerGone(f"{self.other} is gone"))
        finally:
            with self._writing:  # nobody is in the middle of a write when the descriptor goes
                self._sock.close()

    def _handle(self, happening: Happening) -> None:
        match happening:
            case Settled(id=number, value=value, error=error):
                with self._state:
                    waiter = self._waiters.pop(number, None)
                if waiter is not None:
                    waiter.settle(value, error)
            case Asked():
                self._begin(happening)
            case Told(tell=tell):
                self._hear(tell)
            case Send(frame=frame):
                with self._writing:
                    self._send(frame)
            case Withdrawn(id=number):
                served = self._served.get(number)
                if served is not None:
                    served.withdrawn.set()
            case Greeted():
                self._greeted.set()

    def _begin(self, asked: Asked) -> None:
        serving = Serving(None if asked.timeout is None else time.monotonic() + asked.timeout)
        self._served[asked.id] = serving
        kind = type(asked.ask)
        if kind in self._quick:
            self._serve(asked, serving)
            return
        thread = threading.Thread(
            target=self._serve, args=(asked, serving), name=f"{tag_of(kind)} #{asked.id}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # the process may have no more threads
            self._served.pop(asked.id, None)
            refusal = self._core.fail(asked.id, IpcError(f"no thread to serve {tag_of(kind)}: {error}", code="overloaded"))
            with self._writing:
                self._send(refusal)

    def _serve(self, asked: Asked, serving: Serving) -> None:
        kind = type(asked.ask)
        unexpected: BaseException | None = None
        try:
            answer = self._asks[kind](asked.ask, serving)
        except ThetisError as error:
            frame = self._core.fail(asked.id, error)
        except BaseException as error:  # noqa: BLE001 - a thread that ends silently would leave its caller waiting
            unexpected = error
            frame = self._core.fail(asked.id, error)
        else:
            frame = self._core.reply(asked.id, asked.ask, answer)
        self._served.pop(asked.id, None)
        with self._writing:
            if self._gone is None and not serving.withdrawn.is_set():
                self._send(frame)
        if unexpected is not None:
            self._unexpected(f"serving {tag_of(kind)} for {self.other}", unexpected)

    def _hear(self, tell: Tell) -> None:
        try:
            self._tells[type(tell)](tell)
        except Exception as error:  # noqa: BLE001 - a notice has nobody to answer to; the channel must go on
            self._unexpected(f"hearing {tag_of(type(tell))} from {self.other}", error)

    # Ending

    def _send(self, frame: bytearray) -> None:
        """Write all of `frame`; the caller holds the write lock. A broken channel ends here and raises nothing: calls
        learn of it from `_end`."""
        try:
            self._sock.sendall(frame)
        except OSError:
            self._end(PeerGone(f"{self.other} is gone"))

    def _reason(self, reason: IpcError) -> PeerGone:
        return PeerGone(reason.message, code=reason.code, hint=reason.hint)

    def _end(self, reason: IpcError) -> None:
        with self._state:
            if self._gone is not None:
                return
            self._gone = reason
            waiters = list(self._waiters.values())
            self._waiters.clear()
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster
        for waiter in waiters:
            waiter.settle(None, self._reason(reason))
        for serving in list(self._served.values()):
            serving.withdrawn.set()
        self._ended.set()
        if self._on_gone is not None:
            self._on_gone(reason)


def _to_stderr(what: str, error: BaseException) -> None:
    sys.stderr.write(f"unexpected error while {what}\n")
    traceback.print_exception(error, file=sys.stderr)
