"""What clients may ask about the state of a root."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from thetis_kernel.gateway.care.checking import check_store
from thetis_kernel.gateway.care.clean import Cleaner
from thetis_kernel.gateway.care.retention import Retention
from thetis_kernel.protocol import care

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

MAX_LIMIT = 1000


def handlers(gateway: Gateway, only_a_person: Callable[[str], None]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel."""
    async def forget(session: str) -> None:
        await gateway.conversations.delete(session)
        await gateway.workers.discard(session)
        await gateway.timemachine.forget(session)

    retention = Retention(gateway.log, gateway.conversations, gateway.worktrees, gateway.paths, gateway.broadcast.is_open,
                          lambda session: bool(gateway.turns.at_work(session)), forget)

    async def check(_: care.CheckStore) -> care.StoreReport:
        return await check_store(gateway.log, gateway.paths)

    async def old(ask: care.ListOld) -> list[care.OldLine]:
        return await retention.old(ask.days)

    async def prune(ask: care.PruneOld) -> list[care.OldLine]:
        only_a_person("What conversations keep")
        return await asyncio.shield(retention.prune(ask.days, ask.logs))

    async def clean(ask: care.ReadClean) -> care.CleanPage:
        session = await gateway.conversations.find(ask.session)
        events = await gateway.pages.read(session, ask.after, min(max(ask.limit, 1), MAX_LIMIT))

        def cleaned() -> care.CleanPage:
            cleaner = Cleaner(gateway.scrubber, gateway.paths.root)
            return care.CleanPage(events=[cleaner.event(event) for event in events])

        return await asyncio.to_thread(cleaned)

    return {care.CheckStore: check, care.ListOld: old, care.PruneOld: prune, care.ReadClean: clean}
