"""What clients may ask about sub-agents: see them all, stop one. Steering one is saying something to its conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from thetis_kernel.gateway.children.service import Children
from thetis_kernel.protocol.children import ChildLine, ListChildren, StopChild

BY_PERSON = "A person stopped it."


def handlers(find: Callable[[str], Awaitable[str]], children: Children) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """`find(id or prefix)`: the full id of a conversation."""
    async def listed(ask: ListChildren) -> list[ChildLine]:
        return await children.all(await find(ask.session))

    async def stop(ask: StopChild) -> bool:
        return await children.end(await find(ask.session), await find(ask.child), "cancelled", BY_PERSON)

    return {ListChildren: listed, StopChild: stop}
