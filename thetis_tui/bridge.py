"""Between the gateway's client and the screen: paces what streams by, keeps the door's state, turns errors into values.

Must not know about widgets. Deltas are collected for `spacing` seconds and joined, so that the screen is woken at most
1/spacing times a second however fast tokens come; a durable tell is passed on at once, after the deltas before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import PeerGone, ThetisError
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.wire import Tell

T = TypeVar("T")
SPACING = 0.08
"""Seconds between two batches of deltas: 12 a second. Each lays out and draws the screen anew, about 20 ms here, and a key
that comes meanwhile waits for that."""
MAX_DELTA = 256 * 1024
"""Characters of one joined delta kept for the screen; of more only the end, which is all that would be seen."""


class Bridge:
    """One connection: `sink` hears tells in order, `gone` hears once that the gateway is no longer there."""

    def __init__(
        self,
        client: GatewayClient,
        sink: Callable[[Tell], None],
        gone: Callable[[ThetisError], None],
        *,
        spacing: float = SPACING,
    ) -> None:
        self.client = client
        self._sink = sink
        self._gone = gone
        self._spacing = spacing
        self._pending: list[Delta] = []
        self._timer: asyncio.TimerHandle | None = None
        self._unlisten: Callable[[], None] | None = None
        self._unwatch: Callable[[], None] | None = None
        self._lost = False

    async def open(self) -> None:
        """Start listening to every conversation of the root."""
        self._unlisten = self.client.listen(self._heard)
        self._unwatch = self.client.lost(self._lose)
        await self.ask(self.client.attend("screen"))
        await self.ask(self.client.subscribe(""))

    def close(self) -> None:
        """Stop listening; what is pending is dropped."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pending.clear()

    async def ask(self, call: Awaitable[T]) -> T:
        """The answer to a client's call; errors of the tree pass through, and a lost gateway is reported once."""
        try:
            return await call
        except PeerGone as error:
            self._lose(error)
            raise

    def _lose(self, error: ThetisError) -> None:
        if not self._lost:
            self._lost = True
            self._gone(error)

    def _heard(self, tell: Tell) -> None:
        if isinstance(tell, Delta):
            self._hold(tell)
            return
        self._flush()
        self._sink(tell)

    def _hold(self, delta: Delta) -> None:
        last = self._pending[-1] if self._pending else None
        if last is not None and _same(last, delta) and delta.kind != "waiting":
            self._pending[-1] = Delta(
                session=delta.session, kind=delta.kind, text=(last.text + delta.text)[-MAX_DELTA:],
                call=delta.call, stream=delta.stream,
            )
        else:
            self._pending.append(delta)
        if self._timer is None:
            # The first delta after a pause is passed on at the next turn of the loop: no delay for a first word.
            self._timer = asyncio.get_running_loop().call_later(0, self._tick, True)

    def _tick(self, again: bool) -> None:
        self._timer = None
        sent = bool(self._pending)
        self._flush()
        if sent and again and self._unlisten is not None:
            self._timer = asyncio.get_running_loop().call_later(self._spacing, self._tick, True)

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for delta in pending:
            self._sink(delta)


def _same(a: Delta, b: Delta) -> bool:
    return a.session == b.session and a.kind == b.kind and a.call == b.call and a.stream == b.stream
