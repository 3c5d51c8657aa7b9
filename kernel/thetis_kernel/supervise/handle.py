"""A running child as the gateway holds it: its channel, its signs of life, how it is ended, how it ended.

Must not know how it was spawned, nor whether it will be started again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass

from thetis_kernel.errors import ChildError, PeerGone
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.supervise.tail import Tail

_LINGER = 0.5
"""Seconds a child whose channel is over may live on: it is then of no use, and ends by itself."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A ping every `interval` seconds; `silence` seconds without any answer make a child hung (reliability R15)."""

    interval: float = 2.0
    silence: float = 15.0


HEARTBEAT = Heartbeat()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended. `status`: exit status, or minus the signal. `words`: that, in a sentence's end.

    `asked`: the gateway ended it on purpose. `hung`: it was killed because it gave no sign of life. `stderr`: the last
    it wrote.
    """

    status: int
    words: str
    asked: bool
    hung: bool
    stderr: str


@dataclass(frozen=True, slots=True)
class Launched:
    """A process just started: what `Child` takes over. `pidfd` is -1 where there is no such thing."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    stderr: int
    pidfd: int


class Child:
    """A child process. Everything here belongs to the loop's thread."""

    def __init__(
        self,
        name: str,
        role: str,
        launched: Launched,
        peer: AsyncPeer,
        heartbeat: Heartbeat,
    ) -> None:
        self.name = name
        self.role = role
        self.pid = launched.process.pid
        self.peer = peer
        self.on_exit: Callable[[Child, Exit], None] | None = None
        self._process = launched.process
        self._pidfd = launched.pidfd
        self._heartbeat = heartbeat
        self._channel = launched.channel
        self._asked = False
        self._hung = False
        self._loop = asyncio.get_running_loop()
        self.started = self._loop.time()
        self._exited: asyncio.Future[Exit] = self._loop.create_future()
        self._beat: asyncio.Task[None] | None = None
        self._tail = Tail(launched.stderr)
        peer.closed.add_done_callback(lambda _: self._loop.call_later(_LINGER, self._signal, signal.SIGKILL))
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._ended)
        else:
            threading.Thread(target=self._wait_in_thread, name=f"wait for {name}", daemon=True).start()

    async def begin(self) -> None:
        """Open the channel and wait for the hello; from then on the heart is listened to.

        Raises ChildError (`child-start`) when the process ends first.
        """
        await self.peer.attach(self._channel)
        try:
            await self.peer.greeted()
        except PeerGone as error:
            self._signal(signal.SIGKILL)
            ended = await self.wait()
            raise ChildError(
                f"{self.name} did not start: {ended.words}", code="child-start", stderr=ended.stderr[-4096:],
                channel=error.message,
            ) from error  # fmt: skip
        if self._exited.done():
            ended = self._exited.result()
            raise ChildError(
                f"{self.name} ended as it started: {ended.words}", code="child-start", stderr=ended.stderr[-4096:]
            )
        self._beat = self._loop.create_task(self._listen())

    @property
    def alive(self) -> bool:
        """Whether it can be asked something."""
        return not self._exited.done() and not self.peer.closed.done()

    @property
    def exit(self) -> Exit | None:
        """How it ended, if it has."""
        return self._exited.result() if self._exited.done() else None

    def stderr(self, limit: int) -> str:
        """The last `limit` bytes it wrote to its standard error."""
        return self._tail.text(limit)

    def kill(self) -> None:
        """End it now, on purpose."""
        self._asked = True
        self._signal(signal.SIGKILL)

    async def terminate(self, grace: float = 2.0) -> Exit:
        """Ask it to stop, and kill it after `grace` seconds."""
        self._asked = True
        self._signal(signal.SIGTERM)
        await asyncio.wait([self._exited], timeout=grace)
        self.kill()
        return await self.wait()

    async def wait(self) -> Exit:
        """How it ended, once it has and is reaped."""
        return await asyncio.shield(self._exited)

    async def _listen(self) -> None:
        """Count beats missed, not time passed: if this process itself was stopped, that is not the child's silence."""
        silent, heard = 0.0, self.peer.pongs
        while self.alive:
            self.peer.ping()
            await asyncio.sleep(self._heartbeat.interval)
            if self.peer.pongs > heard:
                silent, heard = 0.0, self.peer.pongs
                continue
            silent += self._heartbeat.interval
            if silent >= self._heartbeat.silence:
                self._hung = True
                self._signal(signal.SIGKILL)
                return

    def _signal(self, number: signal.Signals) -> None:
        """Nothing when it is reaped: the pid may be another's."""
        if self._exited.done():
            return
        try:
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                self._process.send_signal(number)
        except ProcessLookupError:
            pass  # it has ended, and is about to be reaped

    def _wait_in_thread(self) -> None:
        self._process.wait()
        self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        """The process is a zombie, or on systems without pidfd reaped. Its process group goes with it."""
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # nobody else was in it
        status = self._process.wait()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._tail.close()
        if self._beat is not None:
            self._beat.cancel()
        words = describe(status, self._hung)
        if self.peer.closed.done() and (reason := self.peer.closed.result()).code != "peer-gone":
            words = f"its channel was cut ({reason.message}), then {words}"
        ended = Exit(status, words, self._asked, self._hung, self._tail.text())
        self._exited.set_result(ended)
        self.peer.close(PeerGone(f"{self.name} is gone: {ended.words}"))
        self._channel.close()  # the transport's by now, unless it was never attached
        if self.on_exit is not None:
            self.on_exit(self, ended)


def describe(status: int, hung: bool = False) -> str:
    """An exit status in words. `status` as subprocess gives it: minus the signal's number when one killed it."""
    if hung:
        return "it gave no sign of life and was killed"
    if status >= 0:
        return f"it ended with status {status}" if status else "it ended by itself"
    try:
        number = signal.Signals(-status)
    except ValueError:
        return f"it was killed by signal {-status}"
    return f"it was killed by {number.name} ({signal.strsignal(number)})"
