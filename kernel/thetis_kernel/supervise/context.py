"""What a role module is handed in its process: the channel to the gateway, its descriptors, its settings.

The contract of a role: `thetis_kernel.hosts.<role>` has

    def serve(context: ChildContext) -> None

called on the main thread of a fresh process. It makes its channel with `context.connect(asks=..., tells=...)`, may
use the returned peer in its handlers, and calls `context.run()`, which says hello and blocks until the gateway asks
the process to stop. What it does after that is its clean-up; when it returns, or raises, the process ends at once
without waiting for threads. It must survive being killed at any point instead.

Must not know any role, and imports no asyncio: every child pays for what is imported here.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Any

from thetis_kernel.ipc.threads import AskHandlers, Serving, TellHandlers, ThreadPeer
from thetis_kernel.protocol.lifecycle import ShutdownIfIdle
from thetis_kernel.protocol.wire import Ask


class ChildContext:
    """One process's means. `fds` are open descriptors by name, the role's own from here on; `settings` the THETIS_*
    variables the gateway chose to pass. `wakeup` is the descriptor that ends a sleep of `wait`."""

    def __init__(self, role: str, channel: socket.socket, fds: Mapping[str, int], settings: Mapping[str, str]) -> None:
        self.role = role
        self.fds = dict(fds)
        self.settings = dict(settings)
        self.peer: ThreadPeer | None = None
        self._channel = channel
        self._stopping = False
        # A pipe and not an Event. `stop` is called from a signal handler, which may interrupt `wait` while it holds the
        # Event's lock. And the system may deliver a signal to any thread: only a byte in a pipe is sure to wake the
        # main one, where Python runs the handler (`signal.set_wakeup_fd`).
        self._woken, self.wakeup = os.pipe()
        os.set_blocking(self.wakeup, False)

    def connect(
        self,
        *,
        asks: AskHandlers | None = None,
        tells: TellHandlers | None = None,
        quick: Collection[type[Ask[Any]]] = (),
        is_idle: Callable[[], bool] | None = None,
    ) -> ThreadPeer:
        """The channel to the gateway, not started. To be called once.

        `quick` handlers run on the reader thread. `is_idle` says whether the process may be stopped when nobody has
        used it for a while; without it, that is whenever no request is being served.
        """
        if self.peer is not None:
            raise RuntimeError(f"the {self.role} process has its channel already")

        def shutdown_if_idle(_: ShutdownIfIdle, serving: Serving) -> bool:
            return is_idle() if is_idle is not None else peer.serving <= 1  # the one is this request

        peer = self.peer = ThreadPeer(
            self._channel,
            role=self.role,
            other="the gateway",
            asks={ShutdownIfIdle: shutdown_if_idle, **(asks or {})},
            tells=tells,
            quick={ShutdownIfIdle, *quick},
        )
        return peer

    def start(self) -> None:
        """Say hello: from now on requests arrive."""
        if self.peer is None:
            raise RuntimeError(f"the {self.role} process has no channel yet")
        self.peer.start()

    def wait(self) -> None:
        """Block until the process is asked to stop."""
        while not self._stopping:
            os.read(self._woken, 4096)

    def run(self) -> None:
        """`start`, then `wait`."""
        self.start()
        self.wait()

    def stop(self) -> None:
        """Let `wait` return. May be called from any thread and from a signal handler."""
        self._stopping = True
        try:
            os.write(self.wakeup, b"\0")
        except BlockingIOError:
            pass  # full: `wait` will wake all the same
