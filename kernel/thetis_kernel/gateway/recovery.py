"""What a crash left open, closed when the gateway starts: every call gets its one result, every turn its one end."""

from __future__ import annotations

import asyncio

from thetis_kernel import crash
from thetis_kernel.errors import StoreError
from thetis_kernel.gateway.log import Log


async def recover(log: Log) -> list[str]:
    """Repair all sessions; sentences about those that could not be."""
    problems = []
    for row in await asyncio.to_thread(log.store.sessions):
        if row.damaged or row.state != "running":
            continue
        try:
            bodies = await asyncio.to_thread(log.store.repairs, row.id)
            if bodies:
                crash.point("recovery.before")
                await log.append_many(row.id, bodies)
                crash.point("recovery.after")
        except StoreError as error:
            problems.append(f"Conversation {row.short_id} could not be repaired: {error}")
    return problems
