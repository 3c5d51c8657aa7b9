"""`thetis compact`: sum up the middle of a conversation now, and say what came of it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.cli.setup import ensure_built
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.events import Event, TurnFinished


def compact(arguments: argparse.Namespace) -> int:
    """Compact and wait for the end; 0 when the turn did what it could, 1 when it failed."""
    paths, loaded = locate(arguments)
    ensure_built(quiet=False)

    async def work() -> TurnFinished | None:
        async with reached(paths, loaded) as client:
            line = await client.conversation(arguments.conversation)
            await client.compact(line.id, arguments.hint)
            await client.wait_idle(line.id)
            ends = [event.body async for event in _after(client, line.id, line.last_seq)]
            return next((body for body in reversed(ends) if isinstance(body, TurnFinished)), None)

    ended = asyncio.run(work())
    print(plain(ended.detail if ended is not None else "The turn has no end in the log."))
    return 0 if ended is not None and ended.stopped_by == "stop" else 1


async def _after(client: GatewayClient, session: str, after: int) -> AsyncIterator[Event]:
    while events := (await client.read(session, after)).events:
        for event in events:
            yield event
        after = events[-1].seq
