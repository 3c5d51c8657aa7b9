"""How long a gateway without a screen stays, and how it ends.

A daemon stays until it is told to end, by a client or a signal; one that was left behind by its screen ends by itself once
nothing runs and nobody is connected for a while. Either ends in order: running turns get some time, then they are parked and
the next daemon goes on with them. It also ends when its root is not where it was. Must not know who started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.gateway.headless.hearing import Handler, Hearing, place_of
from thetis_kernel.gateway.headless.logfile import LogFile
from thetis_kernel.protocol.client import Notice

LINGER_S = 900.0
"""How long a detached gateway waits for somebody after its last turn: as long as an idle worker."""
GRACE_S = 10.0
"""What running turns get at SIGTERM. systemd waits 90 s before it kills."""
LOOK_S = 2.0
"""Between two looks at the root and at what runs."""
MOVED = "This root is not where it was any more ({root}); its daemon ends."


class Staying:
    """`until_over` returns once the gateway is closed. `linger_s` None: it stays until it is told to end."""

    def __init__(self, gateway: Gateway, file: LogFile, *, linger_s: float | None = None) -> None:
        self._gateway = gateway
        self._file = file
        self._linger = linger_s
        self._root = _identity(gateway.paths.root)
        self._told = ""

    async def until_over(self) -> None:
        """Serve, log and end. Signals: SIGTERM and SIGINT end it; SIGHUP is nothing, there is no terminal to lose."""
        gateway, loop = self._gateway, asyncio.get_running_loop()
        loop.set_exception_handler(self._unexpected)
        handler = Handler(self._file, gateway.scrubber)
        logging.getLogger().addHandler(handler)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, gateway.request_close, GRACE_S)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
        self._file.write("info", f"{gateway.holder} began", pid=os.getpid(), root=str(gateway.paths.root))
        looking = asyncio.create_task(self._look())
        try:
            client = await gateway.connect()
            client.listen(Hearing(self._file).heard)
            await client.subscribe()
            wait_s = await gateway.close_requested()
            await self._end(wait_s)
        finally:
            looking.cancel()
            self._file.write("info", f"{gateway.holder} ended", pid=os.getpid())
            logging.getLogger().removeHandler(handler)
            self._file.close()

    async def _end(self, wait_s: float) -> None:
        turns = self._gateway.turns
        running = len(turns.all_running())
        turns.closing = True  # no new ones: clients are told to come again, and come to the next gateway
        if running and wait_s > 0:
            self._file.write("info", f"waiting up to {wait_s:g} s for {running} running turns")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await turns.drained()
        if parked := len(turns.all_running()):
            self._file.write("info", f"parking {parked} running turns")
        await self._gateway.close(park=True)

    async def _look(self) -> None:
        """What nobody tells of: the root went away, nobody is here any more."""
        loop = asyncio.get_running_loop()
        needed = loop.time()
        while True:
            await asyncio.sleep(LOOK_S)
            if _identity(self._gateway.paths.root) != self._root:
                words = MOVED.format(root=self._gateway.paths.root)
                hint = "Its conversations are kept under the old place. Move it back, or start anew where it is now."
                self._gateway.broadcast.publish(Notice(level="error", message=words, hint=hint))
                self._gateway.request_close(0.0)
                return
            self._tell_trouble()
            if self._linger is None:
                continue
            if self._gateway.turns.all_running() or self._gateway.broadcast.listeners > 1:  # one is the log's own
                needed = loop.time()
            elif loop.time() - needed >= self._linger:
                self._file.write("info", "nothing runs and nobody is here")
                self._gateway.request_close(0.0)
                return

    def _tell_trouble(self) -> None:
        """A log that cannot be written is told to clients, and to those that ask how it stands, for as long as it is so."""
        trouble = self._file.trouble
        if trouble == self._told:
            return
        notices = self._gateway.notices
        if self._told in notices:
            notices.remove(self._told)
        if trouble:
            notices.append(trouble)
            hint = "Turns are not affected; free some space."
            self._gateway.broadcast.publish(Notice(level="warn", message=trouble, hint=hint))
        self._told = trouble

    def _unexpected(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        known = isinstance(error, ThetisError)
        told = str(error) if known else place_of(error) if isinstance(error, BaseException) else ""
        self._file.write("error", "an unexpected error", error=self._gateway.scrubber.text(told))


def _identity(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
