"""`session.recall-span`: what a compaction stands for, read again as it was logged.

Owns how much comes at once. Must not know how events read to a model.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.bounds import MAX_CONTENT
from thetis_kernel.toolhost.context import Journal

PAGE = MAX_CONTENT * 3 // 4
"""Bytes of events a result carries; what is longer is cut by the result's own bound, and kept whole beside it."""


def recall_span(journal: Journal, first: int, last: int) -> dict[str, Any]:
    """{"events": [{"seq", "kind", "body"}], "next"}: `next` is where to read on, 0 at the end. Raises ThetisError."""
    if not 1 <= first <= last:
        raise ThetisError(f"{first} to {last} is no span of events.", code="bad-arguments",
                          hint="A summary names the spans it stands for.")
    found = journal.originals(first, last, PAGE)
    if not found.events:
        raise ThetisError(f"There are no events {first} to {last} in this conversation.", code="not-found")
    events = [{"seq": event.seq, "kind": event.kind, "body": msgspec.json.decode(event.raw)} for event in found.events]
    return {"events": events, "next": found.next}
