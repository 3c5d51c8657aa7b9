"""How a guest is looked at while nothing runs: the agent's health in its own worker, the newest events drawn in the face host.

Wires the prober to processes; what a finding means is the watchdog's affair.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from thetis_kernel.errors import RemoteError
from thetis_kernel.gateway.body.prober import Finding, Prober
from thetis_kernel.gateway.fleet import worker_name
from thetis_kernel.gateway.guests import AGENT, RENDERER
from thetis_kernel.protocol.worker import ProbeAgent

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

SECONDS = 15.0
"""For the agent's health: a call has 10 s of processor time at most."""
NEWEST = 20
"""Events that are drawn."""


def prober_of(gateway: Gateway) -> Prober:
    """The prober of an open root."""
    fleet = gateway.fleet

    def living() -> list[str]:
        prefix = worker_name("")
        return [name.removeprefix(prefix) for name in fleet.supervisor.names() if name.startswith(prefix)]

    async def agent(session: str) -> Finding | None:
        guest = await gateway.guests.agent(session)
        worker = fleet.supervisor.get(worker_name(session))
        if worker is None:
            return None
        told = await worker.peer.call(ProbeAgent(agent=guest), timeout=SECONDS)
        return Finding(told.failure, told.detail)

    async def renderer(session: str) -> Finding | None:
        seq = (await gateway.log.state(session)).seq
        events = await asyncio.to_thread(gateway.log.store.read, session, after=max(0, seq - NEWEST))
        try:
            await gateway.renderer.draw_anew(session, list(events))
        except RemoteError as error:
            return Finding(str(error.data.get("kind", "")), error.message)
        return Finding()

    return Prober(gateway.log, gateway.watchdog, living, lambda session: bool(gateway.turns.at_work(session)),
                  {AGENT: agent, RENDERER: renderer})
