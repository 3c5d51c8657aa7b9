"""Tidying the artifacts when a root is opened, when there came to be too much of them.

Owns which revisions are in use: those that serve a conversation that has not been deleted.
"""

from __future__ import annotations

import asyncio

from thetis_kernel.errors import StoreError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.collecting import collect
from thetis_kernel.protocol.events import SHIPPED
from thetis_kernel.store.store import Store


async def tidy(own: ArtifactStore, conversations: Store, shipped: ArtifactStore) -> int:
    """Collect the root's `own` artifacts and those of `shipped` guests, which all roots of a person share; bytes freed.

    Raises StoreError.
    """
    freed = await asyncio.to_thread(collect, own, lambda: live_revisions(conversations))
    return freed + await asyncio.to_thread(collect, shipped, frozenset)


def live_revisions(conversations: Store) -> frozenset[str]:
    """The digests of every guest some conversation changed and runs on. A conversation that cannot be read counts for none:
    what it ran on is judged again when it can. Reads whole logs, so it is asked only when there is a reason."""
    found: set[str] = set()
    for row in conversations.sessions():
        try:
            changes = conversations.state(row.id).guests
        except StoreError:
            continue
        found.update(change.revision for change in changes.values() if change.revision != SHIPPED)
    return frozenset(found)
