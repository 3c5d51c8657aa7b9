"""What clients may ask the time machine; a person decides about their past on their own machine, never over a bridge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from thetis_kernel.protocol import timemachine as t

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway


def handlers(gateway: Gateway, only_a_person: Callable[[str], None]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel; `only_a_person(what)` raises for a bridge."""

    async def moments(ask: t.ListMoments) -> list[t.Moment]:
        return await gateway.timemachine.moments(await gateway.conversations.find(ask.session))

    async def rewind(ask: t.RewindTo) -> t.Rewound:
        only_a_person("A rewind")
        session = await gateway.conversations.find(ask.session)
        done = await asyncio.shield(gateway.timemachine.rewind(session, ask.seq, ask.what))
        gateway.changed(session)
        return done

    async def undo(ask: t.UndoRewind) -> t.Rewound:
        only_a_person("A rewind")
        session = await gateway.conversations.find(ask.session)
        done = await asyncio.shield(gateway.timemachine.undo(session))
        gateway.changed(session)
        return done

    async def fork(ask: t.Fork) -> t.Forked:
        only_a_person("A fork")
        made = await asyncio.shield(gateway.timemachine.fork(await gateway.conversations.find(ask.session), ask.seq))
        gateway.changed(made.session)
        return made

    return {t.ListMoments: moments, t.RewindTo: rewind, t.UndoRewind: undo, t.Fork: fork}
