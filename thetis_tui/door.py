"""The screen's end of the gateway: reaches it, notices when it is gone, reaches it again.

Owns the bridge and the state's `link`. Must not know what is asked through it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from thetis_kernel.errors import IpcError, ThetisError

from thetis_tui.bridge import Bridge
from thetis_tui.messages import Told

if TYPE_CHECKING:
    from thetis_kernel.client import GatewayClient
    from thetis_kernel.protocol.blocks import RenderedEvent
    from thetis_kernel.protocol.client import EventPage
    from thetis_kernel.protocol.wire import Tell

    from thetis_tui.app import ThetisApp

T = TypeVar("T")
_PAUSES = (0.25, 5.0)
"""Seconds between two attempts to reach a gateway that went away: the first pause, each is twice the one before, the last."""
Connect = Callable[[], Awaitable["GatewayClient"]]


class Door:
    """One gateway at a time. `reach` may be called again after a failure or a loss."""

    def __init__(self, app: ThetisApp, connect: Connect) -> None:
        self._app = app
        self._connect = connect
        self._bridge: Bridge | None = None
        self.hurry = asyncio.Event()
        """Set: try again now, without waiting for the end of a pause."""

    @property
    def client(self) -> GatewayClient:
        """The client. Raises IpcError while there is none."""
        return self._there().client

    async def ask(self, call: Awaitable[T]) -> T:
        """The answer to a client's call; a lost gateway is noticed on the way."""
        return await self._there().ask(call)

    def _there(self) -> Bridge:
        if self._bridge is None:
            raise IpcError("The gateway is not there yet.", hint="What you typed is kept.")
        return self._bridge

    async def reach(self) -> bool:
        """Start or find the gateway and learn what there is; False when it failed, with the reason in the state."""
        state = self._app.state
        again = state.link == "reconnecting"
        if not again:
            state.link, state.trouble = "connecting", None
        self._app.refresh_views()
        try:
            client = await self._connect()
            if self._bridge is not None:
                self._bridge.close()
            self._bridge = Bridge(client, self._hear, self._gone)
            await self._bridge.open()
            state.status = await self.ask(client.status())
            state.replace(await self.ask(client.conversations()))
        except (ThetisError, OSError) as error:
            state.link = "reconnecting" if again else "failed"
            state.trouble = error if isinstance(error, ThetisError) else ThetisError(str(error), code="os")
            return False
        state.link, state.trouble = "ready", None
        return True

    async def reach_again(self) -> bool:
        """Reach a gateway that went away, at once and then after pauses, until it is there. True."""
        pause = _PAUSES[0]
        while not await self.reach():
            self._app.refresh_views()
            self.hurry.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.hurry.wait(), pause)
            pause = min(2 * pause, _PAUSES[1])
        return True

    def close(self) -> None:
        """The screen is going: nothing of the gateway is news any more."""
        if self._bridge is not None:
            self._bridge.close()

    def _hear(self, tell: Tell) -> None:
        self._app.post_message(Told(tell))

    def _gone(self, error: ThetisError) -> None:
        state = self._app.state
        if state.link == "ready":  # else `reach` is on its way and sees for itself
            state.link, state.trouble = "reconnecting", error
            self._app.lost()

    async def look(self) -> None:
        """See whether the gateway is there, and heal what was missed of the list."""
        state = self._app.state
        if state.link != "ready":
            return
        try:
            state.replace(await self.ask(self.client.conversations()))
        except ThetisError:
            return  # a lost gateway has been said by `_gone`; anything else is tried again at the next look
        self._app.refresh_soon()

    # --- the log, through whatever gateway there is now

    async def read(self, session: str, after: int = 0, limit: int = 500) -> EventPage:
        """Events of a conversation's log."""
        return await self.ask(self.client.read(session, after, limit))

    async def render(self, session: str, after: int, upto: int) -> list[RenderedEvent]:
        """The blocks of a stretch of the log."""
        return await self.ask(self.client.render(session, after, upto))
