"""Sub-agents a dead kernel left without an end: settled when the gateway starts, none of them begun again.

One that had ended has its answer told; one that was cut is a failure with its partial work; one its parent never heard of is
made known. Runs after each conversation's own repairs, before any turn.
"""

from __future__ import annotations

import asyncio

from thetis_kernel import crash
from thetis_kernel.errors import StoreError
from thetis_kernel.gateway.children import lines, results
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import Body, ChildSettled, ChildStarted, Nudge, User
from thetis_kernel.store.rows import SessionRow

UNKNOWN = "unnamed"
"""The label of a child whose parent never heard of it."""
NOTE = "Thetis was restarted meanwhile. {note} None of them was begun again."


async def settle_left(log: Log, most: int) -> tuple[dict[str, list[str]], list[str]]:
    """({parent: its children settled now}, sentences about those that could not be). `most`: bytes of an answer."""
    left: dict[str, list[SessionRow]] = {}
    for row in await asyncio.to_thread(log.store.sessions):
        if row.relation == "child" and await asyncio.to_thread(log.store.find_event, f"{row.id}:settled") is None:
            left.setdefault(row.parent, []).append(row)
    found: dict[str, list[str]] = {}
    problems: list[str] = []
    for parent, rows in left.items():
        try:
            await _settle(log, parent, sorted(rows, key=lambda row: row.created_ms), most)
            found[parent] = [row.id for row in rows]
        except StoreError as error:
            problems.append(f"Sub-agents of conversation {parent[:8]} could not be settled: {error}")
    return found, problems


async def _settle(log: Log, parent: str, rows: list[SessionRow], most: int) -> None:
    """All of it in one group: a parent that knows of an end has been told of it."""
    crash.point("children.found")
    known = (await log.state(parent)).children
    bodies: list[tuple[Body, str]] = []
    told: list[ChildSettled] = []
    for row in rows:
        started = known.get(row.id)
        if started is None:
            started = ChildStarted(child=row.id, label=UNKNOWN, task=await asyncio.to_thread(_task, log, row.id),
                                   mode=row.mode, model=row.model)
            bodies.append((started, f"{row.id}:started"))
        spent = dict((await log.state(row.id)).spent)
        settled = await asyncio.to_thread(
            results.settled, row.id, started.label, log.store.iterate(row.id), spent, most)
        bodies.append((settled, f"{row.id}:settled"))
        told.append(settled)
    bodies.append((Nudge(text=NOTE.format(note=lines.note(told)), source="system"), ""))
    await log.append_many(parent, [body for body, _ in bodies], event_ids=[identifier for _, identifier in bodies])


def _task(log: Log, child: str) -> str:
    for event in log.store.read(child, 0, 10):
        if isinstance(event.body, User):
            return event.body.text
    return ""
