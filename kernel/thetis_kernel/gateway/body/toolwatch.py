"""A worker tells how a tool of the conversation's own failed; the gateway says what to try the call on, and puts back.

The order: the breaker trips, the worker repeats the failing call with the revision that served before, and tells how that went.
Only if that did better does the tool go back; else it is what it was called with. Must not know how a tool is called.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.body.watchdog import Watchdog
from thetis_kernel.gateway.guests import TOOL, Guests
from thetis_kernel.protocol.worker import AskDevKit, DevKitAnswer


class ToolWatch:
    """Answers the asks a worker makes by itself: guest-failed, guest-replayed, guest-well."""

    def __init__(self, bodies: Bodies, guests: Guests, watchdog: Watchdog) -> None:
        self._bodies = bodies
        self._guests = guests
        self._watchdog = watchdog

    async def answer(self, session: str, ask: AskDevKit) -> DevKitAnswer:
        """`arguments`: {"tool", "kind", "detail", "better"}. `DevKitAnswer.tool` of guest-failed is what to repeat the call
        with; of guest-replayed what serves from now on."""
        told: dict[str, Any] = msgspec.json.decode(ask.arguments)
        aspect = f"{TOOL}{told['tool']}"
        if ask.name == "guest-well":
            await self._watchdog.well(session, aspect)
            return DevKitAnswer(data=b"{}")
        if ask.name == "guest-failed":
            return await self._earlier(session, aspect, str(told["kind"]))
        if not told["better"]:
            await self._watchdog.blame_input(session, aspect, str(told["kind"]), str(told["detail"]))
            return DevKitAnswer(data=b"{}")
        await self._watchdog.put_back(session, aspect, str(told["kind"]), str(told["detail"]))
        return DevKitAnswer(data=b"{}", tool=await self._guests.tool(session, str(told["tool"])))

    async def _earlier(self, session: str, aspect: str, kind: str) -> DevKitAnswer:
        change = await self._watchdog.tripped(session, aspect, kind)
        verdict = await self._bodies.verdict_of(change) if change is not None else None
        if change is None or verdict is None or not verdict.ok:
            return DevKitAnswer(data=b"{}")
        answer = msgspec.json.encode({"revision": change.revision})
        return DevKitAnswer(data=answer, tool=self._guests.as_bundle(aspect, verdict))


ASKS = ("guest-failed", "guest-replayed", "guest-well")
