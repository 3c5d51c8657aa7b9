"""What a worker's dev kit asks, answered: the mode looked at once more, the change made, the changed tool handed back."""

from __future__ import annotations

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.body.toolwatch import ASKS as WATCHED
from thetis_kernel.gateway.body.toolwatch import ToolWatch
from thetis_kernel.gateway.guests import TOOL, Guests
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.worker import AskDevKit, DevKitAnswer
from thetis_kernel.toolhost.devkit import CHANGING


class DevKitDoor:
    """Between a conversation's worker and its body."""

    def __init__(self, bodies: Bodies, guests: Guests, log: Log, modes: Modes, closed: str = "",
                 watch: ToolWatch | None = None) -> None:
        """`closed`: why the agent cannot change a guest at all. `watch` hears what workers tell of tools that fail."""
        self._watch = watch
        self._bodies = bodies
        self._guests = guests
        self._log = log
        self._modes = modes
        self._closed = closed

    async def answer(self, session: str, ask: AskDevKit) -> DevKitAnswer:
        """Do what is asked. Raises Refused in a read-only mode, whatever the worker let through, and as `Bodies.perform`."""
        if ask.name in WATCHED and self._watch is not None:
            return await self._watch.answer(session, ask)
        await self.check(session, ask)
        if ask.name in CHANGING and self._closed:
            raise Refused(f"No guest can be changed now. {self._closed}", capability="devkit",
                          hint="A person can start Thetis without --safe.")
        answer = await self._bodies.perform(session, ask.name, msgspec.json.decode(ask.arguments), by="agent")
        if ask.name == "update-code":
            names = [one["aspect"] for one in answer["guests"] if one["how"] == "merged" and one["aspect"].startswith(TOOL)]
            tools = [await self._guests.tool(session, name.removeprefix(TOOL)) for name in names]
            return DevKitAnswer(data=msgspec.json.encode(answer), more=[tool for tool in tools if tool is not None])
        aspect = str(answer.get("aspect", ""))
        if not answer.get("ok") or not aspect.startswith(TOOL):
            return DevKitAnswer(data=msgspec.json.encode(answer))
        name = aspect.removeprefix(TOOL)
        tool = await self._guests.tool(session, name)
        return DevKitAnswer(data=msgspec.json.encode(answer), tool=tool, gone="" if tool else name)

    async def check(self, session: str, ask: AskDevKit) -> None:
        """Raise Refused for a change in a read-only mode; `session` may be a sub-agent of the conversation."""
        if ask.name in CHANGING and self._modes.get((await self._log.state(session)).mode).read_only:
            raise Refused(f"This conversation is in a read-only mode: devkit.{ask.name} is not possible by any route.",
                          capability="devkit", hint="A person can switch the mode.")
