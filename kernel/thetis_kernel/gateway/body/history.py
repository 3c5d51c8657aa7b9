"""What a guest was before: its revisions in one conversation, from the log's modifications."""

from __future__ import annotations

import asyncio
from typing import Any

from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import SHIPPED, Modification
from thetis_kernel.store.folds import SessionState

MAX_LISTED = 100
SHORTEST = 6
"""Characters of a revision that are enough to name it."""


async def of(log: Log, session: str, aspect: str, *, most: int = MAX_LISTED) -> dict[str, Any]:
    """{"revisions": [...], "incidents": [...]} newest first, "" for every guest; times come from the events. `most` 0: all."""
    state = await log.state(session)
    latest = {change.target: change for _, change in state.modifications}
    changes = sorted([*state.modifications, *state.refused], key=lambda each: each[0])
    chosen = [(seq, change) for seq, change in changes if not aspect or change.target == aspect][-most:]
    listed = []
    for seq, change in reversed(chosen):
        listed.append({
            "aspect": change.target, "revision": change.revision, "previous": change.previous, "verdict": change.verdict,
            "by": change.by, "summary": change.summary, "commit": change.commit, "seq": seq,
            "ts_ms": await _when(log, session, seq),
            "serving": change is latest.get(change.target)})
    told = [(seq, incident) for seq, incident in state.mishaps if not aspect or incident.data["aspect"] == aspect][-most:]
    incidents = [{"aspect": incident.data["aspect"], "code": incident.code, "message": incident.message,
                  "revision": str(incident.data.get("revision", "")), "seq": seq,
                  "ts_ms": await _when(log, session, seq)} for seq, incident in reversed(told)]
    return {"revisions": listed, "incidents": incidents}


async def _when(log: Log, session: str, seq: int) -> int:
    stored = await asyncio.to_thread(log.store.read, session, seq - 1, 1)
    return stored[0].ts_ms if stored else 0


def earlier(state: SessionState, aspect: str, revision: str) -> Modification | None:
    """The change that made `revision` serve ("": what served before the present), None for the shipped guest.

    Raises UsageError when there is no such one.
    """
    if not revision:
        present = next((change for _, change in reversed(state.modifications) if change.target == aspect), None)
        if present is None or present.revision == SHIPPED:
            raise UsageError(f"{aspect} is the shipped one; there is nothing before it.", code="not-found",
                             hint="`thetis self log` lists what was changed.")
        return of_revision(state, aspect, present.previous)
    return None if revision == SHIPPED else named(state, aspect, revision)


def refusal(state: SessionState, aspect: str, revision: str) -> Modification | None:
    """The newest edit that was refused and begins with `revision`; None when there is none, or it served once."""
    if len(revision) < SHORTEST or any(c.revision.startswith(revision) for _, c in state.modifications if c.target == aspect):
        return None
    return next((change for _, change in reversed(state.refused)
                 if change.target == aspect and change.revision.startswith(revision)), None)


def named(state: SessionState, aspect: str, revision: str) -> Modification:
    """The newest change to the revision that begins with `revision`; "": to the one that serves. Raises UsageError."""
    changes = [change for _, change in reversed(state.modifications) if change.target == aspect]
    found = [change for change in changes if change.revision.startswith(revision) and len(revision) >= SHORTEST]
    if not revision:
        found = changes[:1]
    if not found or len({change.revision for change in found}) > 1:
        known = ", ".join(dict.fromkeys(change.revision[:8] for change in changes)) or "none"
        raise UsageError(f"{aspect} has no revision {revision[:40]!r} here.", code="not-found", hint=f"Known: {known}.")
    return found[0]


def of_revision(state: SessionState, aspect: str, revision: str) -> Modification | None:
    """The newest change to exactly this revision; None for the shipped one."""
    return next((change for _, change in reversed(state.modifications)
                 if change.target == aspect and change.revision == revision and revision != SHIPPED), None)
