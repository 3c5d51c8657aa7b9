"""The whole line of a conversation: what it inherited, then its own events; raw, or as the projection shows it.

A fork is its parent's events up to the fork and its own after them, numbered on. Nothing is ever copied. Functions over
a `Reader`; each page is read in one snapshot, and since the log only grows, pages fit together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import apsw
import msgspec

from thetis_kernel.protocol.events import Event
from thetis_kernel.store import folds, ledger, projection
from thetis_kernel.store.chain import Row
from thetis_kernel.store.foldcache import Kept
from thetis_kernel.store.projection import Operation, Stretch
from thetis_kernel.store.reader import Line, Reader, hash_at

Part = tuple[Line, int, int]
"""Events from..to of one conversation's own stretch."""


def line_of(reader: Reader, db: apsw.Connection, session: str) -> list[Part]:
    """The parts of a conversation's line, the oldest ancestor's first; none is empty."""
    parts: list[Part] = []
    line = reader.line(db, session)
    upto = line.last_seq
    while True:
        if min(upto, line.last_seq) >= line.first_seq:
            parts.append((line, line.first_seq, min(upto, line.last_seq)))
        if line.relation != "fork":
            return parts[::-1]
        upto = min(upto, line.first_seq - 1)
        line = reader.line(db, line.parent)


def raw(reader: Reader, session: str, *, live: bool = False, after: int = 0) -> Iterator[Event]:
    """Every event of the line after number `after`; with `live` only those on the live branch, compacted ones included."""
    with reader.snapshot() as db:
        parts = line_of(reader, db, session)
        if live:
            rewinds = projection.rewinds(_operations(db, parts, reader))
            parts = _select(parts, projection.live(_end(parts), rewinds))
    for line, rows in _pages(reader, _select(parts, [(after + 1, sys.maxsize)])):
        yield from reader.events(line, rows)


def state(reader: Reader, session: str, kept: Kept | None = None) -> folds.SessionState:
    """The fold over the whole line; over what follows `kept`, when that is a fold of exactly the events before."""
    folded = folds.SessionState()
    with reader.snapshot() as db:
        parts = line_of(reader, db, session)
        if kept is not None and parts and digest_at(db, parts[-1], kept.state.seq) == kept.digest:
            folded = kept.state
            parts = _select(parts, [(folded.seq + 1, sys.maxsize)])
    for line, rows in _pages(reader, parts):
        for row in rows:
            if row[5] == ledger.INLINE:
                folds.feed(folded, row[0], row[2], row[6])
            else:
                folds.fold(reader.events(line, [row]), folded)
    return folded


def digest(reader: Reader, session: str, seq: int) -> str:
    """The chain's hash at an event of the conversation's own stretch, hex; "" when it is not one."""
    with reader.snapshot() as db:
        parts = line_of(reader, db, session)
        return digest_at(db, parts[-1], seq) if parts else ""


def digest_at(db: apsw.Connection, part: Part, seq: int) -> str:
    """The chain's hash at an event of a conversation's own stretch, hex; "" when it is not one."""
    line, first, last = part
    found = hash_at(db, line.num, seq) if first <= seq <= last else None
    return found.hex() if found else ""


def projected(reader: Reader, session: str, after: int, max_bytes: int, limit: int) -> tuple[list[Event], bool]:
    """The projection's events after number `after`, and whether they are the last; see `projection.project`."""
    events: list[Event] = []
    size = 0
    with reader.snapshot() as db:
        parts = line_of(reader, db, session)
        plan = projection.project(_end(parts), _operations(db, parts, reader))
        for line, first, last in _select(parts, plan):
            at = max(after, first - 1)
            while at < last:
                if len(events) >= limit:
                    return events, False
                rows = reader.page(db, line, at, upto=last, limit=limit - len(events), max_bytes=max_bytes)
                for event in reader.events(line, rows):
                    size += len(event.raw)
                    if events and size > max_bytes:
                        return events, False
                    events.append(event)
                at = rows[-1][0]
    return events, True


def _pages(reader: Reader, parts: Sequence[Part]) -> Iterator[tuple[Line, list[Row]]]:
    for line, first, last in parts:
        after = first - 1
        while after < last:
            with reader.snapshot() as db:
                rows = reader.page(db, line, after, upto=last)
            yield line, rows
            after = rows[-1][0]


def _operations(db: apsw.Connection, parts: Sequence[Part], reader: Reader) -> list[Operation]:
    """The rewinds and compactions of a line. They are few and have an index of their own."""
    found: list[Operation] = []
    for line, first, last in parts:
        rows: list[Any] = db.execute(
            "SELECT seq, event_id, kind, v, ts_ms, form, body, hash FROM events"
            " WHERE session = ? AND seq BETWEEN ? AND ? AND kind IN ('rewind', 'compaction') ORDER BY seq",
            (line.num, first, last),
        ).fetchall()
        for event in reader.events(line, rows):
            try:
                found.append((event.seq, projection.operation(event.kind, event.raw)))
            except msgspec.MsgspecError as error:
                # Not checked against the chain here, so what does not decode is taken for the damage it must be.
                raise ledger.damaged(line.id, event.seq) from error
    return found


def _end(parts: Sequence[Part]) -> int:
    return parts[-1][2] if parts else 0


def _select(parts: Sequence[Part], stretches: Sequence[Stretch]) -> list[Part]:
    """The pieces of `parts` that the stretches name, in the stretches' order."""
    return [
        (line, max(first, a), min(last, b))
        for first, last in stretches
        for line, a, b in parts
        if max(first, a) <= min(last, b)
    ]
