"""Artifacts that nobody uses any more: when there are too many bytes of them, and which go first.

An artifact can always be made again from its source, so losing one costs a judgement; what a living conversation runs on
is kept all the same, because that judgement would be in somebody's way. One that disappears goes by one rename, so a kill in
between leaves a leftover that the next sweep takes, never half an entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container

from thetis_kernel import crash
from thetis_kernel.forge.artifacts import ArtifactStore

LIMIT = 64 * 1024 * 1024
"""Bytes of a store before anything is collected: a thousand tools, or two hundred agents."""
DOWN_TO = 0.75
"""Of the limit: collecting a little each time would mean collecting all the time."""
IDLE_S = 24 * 3600.0
"""What was used since is not taken: another process may be about to use it again."""


def collect(store: ArtifactStore, live: Callable[[], Container[str]], *, limit: int = LIMIT, idle_s: float = IDLE_S) -> int:
    """Remove the longest unused entries of a store above `limit` bytes; how many bytes that freed.

    `live()` gives the digests of the sources that conversations run on; their passing entries stay, and so does what was
    used within `idle_s` seconds. It is asked only when there is something to do. Raises StoreError as the store does.
    """
    entries = sorted(store.entries(), key=lambda entry: entry.used)
    total = before = sum(entry.size for entry in entries)
    if total <= limit:
        return 0
    kept, newest = live(), time.time() - idle_s
    for entry in entries:
        if total <= limit * DOWN_TO:
            break
        if entry.used <= newest and not (entry.ok and entry.source in kept):
            crash.point("collect.chosen")
            total -= entry.size if store.forget(entry.key) else 0
    return before - total
