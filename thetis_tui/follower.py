"""Hands out one conversation's durable events in order and without gaps, whatever the gateway's tells leave out.

Must not know about widgets. A tell that fits is passed on at once; a gap is read again from the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import EventPage
from thetis_kernel.protocol.events import Event

Read = Callable[[int, int], Awaitable[EventPage]]
PAGE = 200


class Follower:
    """Passes every event after `after` to `emit`, in order, each once.

    `read(after, limit)` reads the log; `failed` hears errors of the log, which end the filling until the next event.
    """

    def __init__(self, read: Read, emit: Callable[[list[Event]], None], failed: Callable[[ThetisError], None]) -> None:
        self._read = read
        self._emit = emit
        self._failed = failed
        self._seen: int | None = None
        self._wanted = 0
        self._filling: asyncio.Task[None] | None = None

    @property
    def seen(self) -> int:
        """The last event handed out (0 before `start`)."""
        return self._seen or 0

    def start(self, after: int) -> None:
        """Begin after event `after`; whatever was offered before is caught up with."""
        self._seen = after
        if self._wanted > after:
            self._fill()

    def offer(self, event: Event) -> None:
        """An event the gateway told of."""
        self._wanted = max(self._wanted, event.seq)
        if self._seen is None or event.seq <= self._seen:
            return
        if event.seq == self._seen + 1 and self._filling is None:
            self._seen = event.seq
            self._emit([event])
        else:
            self._fill()

    def catch_up(self, last: int) -> None:
        """The log is known to end at `last`: hand out what is missing."""
        self._wanted = max(self._wanted, last)
        if self._seen is not None and self._seen < self._wanted:
            self._fill()

    def stop(self) -> None:
        """Hand out nothing more."""
        self._seen = None
        if self._filling is not None:
            self._filling.cancel()
            self._filling = None

    def _fill(self) -> None:
        if self._filling is None:
            self._filling = asyncio.get_running_loop().create_task(self._read_on())

    async def _read_on(self) -> None:
        try:
            while self._seen is not None and self._seen < self._wanted:
                page = await self._read(self._seen, PAGE)
                fresh = [event for event in page.events if self._seen is not None and event.seq > self._seen]
                if not fresh:
                    break
                self._seen = fresh[-1].seq
                self._emit(fresh)
        except ThetisError as error:
            self._failed(error)
        finally:
            self._filling = None
