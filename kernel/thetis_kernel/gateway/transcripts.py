"""Earlier conversations of this root for an agent: the list, the full-text index, pages of one log.

One gateway has one root's log and no other, so nothing here can reach further. A conversation that came over a bridge is
written by other people, and reads none but its own. Must not know who asks what for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from thetis_kernel.errors import Refused
from thetis_kernel.gateway.bridged import is_bridged
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.events import Event
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.transcripts import (
    Entry,
    Found,
    Hits,
    Listing,
    ListTranscripts,
    Page,
    ReadTranscript,
    SearchTranscripts,
    Told,
)
from thetis_kernel.store.rows import Hit, SessionRow
from thetis_kernel.store.search import text_of

MAX_LISTED, MAX_HITS, MAX_ENTRIES, MAX_CHARS = 100, 100, 200, 8000
MAX_PAGE_CHARS = 24_000
"""Of all entries of a page together, so that it fits into a result."""
MAX_LINE = 300
PAGE_EVENTS, PAGE_BYTES = 200, 1 << 20
LOOKED_AT = 8
"""Hits that are looked at for each that is wanted, as most of what a log holds is tools' work."""
TOOLS = frozenset({"tool-invocation", "tool-result"})


class Transcripts:
    """Answers one root's workers."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def asks(self, session: str) -> dict[type[Any], Callable[[Any], Any]]:
        """The handlers for one conversation's worker."""
        return {
            ListTranscripts: lambda ask: self.listing(session, ask),
            SearchTranscripts: lambda ask: self.search(session, ask),
            ReadTranscript: lambda ask: self.read(session, ask),
        }

    async def listing(self, session: str, ask: ListTranscripts) -> Listing:
        """Conversations, the last used first; sub-agents and empty ones are left out."""
        await self._check(session, "")
        rows = await asyncio.to_thread(self._log.store.sessions)
        rows = [row for row in rows if row.preview and row.relation != "child" and (ask.archived or not row.archived)]
        limit = min(max(ask.limit, 1), MAX_LISTED)
        return Listing([_told(row, session) for row in rows[:limit]], len(rows) > limit)

    async def search(self, session: str, ask: SearchTranscripts) -> Hits:
        """Places that hold the words. Raises UsageError for a conversation nobody knows, Refused over a bridge."""
        where = await self._named(session, ask.conversation) if ask.conversation else ""
        await self._check(session, where)
        limit = min(max(ask.limit, 1), MAX_HITS)
        hits = await asyncio.to_thread(self._log.store.search, ask.query, limit * LOOKED_AT, where)
        kept = [hit for hit in hits if (where or hit.session != session) and (ask.tools or hit.kind not in TOOLS)]
        titles = {row.id: row.title for row in await asyncio.to_thread(self._log.store.sessions)}
        return Hits([_found(hit, titles) for hit in kept[:limit]], len(kept) > limit or len(hits) == limit * LOOKED_AT)

    async def read(self, session: str, ask: ReadTranscript) -> Page:
        """A page of one log. Raises UsageError for a conversation nobody knows, StoreError for damage."""
        where = await self._named(session, ask.conversation)
        await self._check(session, where)
        row = await asyncio.to_thread(self._log.store.session, where)
        chars = min(max(ask.chars, 40), MAX_CHARS)
        entries: list[Entry] = []
        after, used = max(ask.from_seq, 1) - 1, 0
        limit = min(max(ask.limit, 1), MAX_ENTRIES)
        while events := await asyncio.to_thread(self._log.store.read, where, after, PAGE_EVENTS, PAGE_BYTES):
            for event in events:
                entry = _entry(event, chars)
                if entry is not None and (len(entries) >= limit or (entries and used + len(entry.text) > MAX_PAGE_CHARS)):
                    return Page(short(where), row.title, entries, event.seq)
                if entry is not None:
                    entries.append(entry)
                    used += len(entry.text)
                after = event.seq
        return Page(short(where), row.title, entries)

    async def _named(self, session: str, name: str) -> str:
        """The id a conversation is named by; "this" is the agent's own."""
        if name in ("this", "own"):
            return session
        return (await asyncio.to_thread(self._log.store.session, name)).id

    async def _check(self, session: str, where: str) -> None:
        if where != session and await is_bridged(self._log, session):
            raise Refused("Other people write into this conversation, so it does not read those of this root.", capability="read",
                          hint="Its own can be read: conversation = \"this\".")


def _told(row: SessionRow, own: str) -> Told:
    return Told(id=row.short_id, title=row.title, created_ms=row.created_ms, updated_ms=row.updated_ms, last=row.last_seq,
                preview=row.preview, own=row.id == own)


def _found(hit: Hit, titles: dict[str, str]) -> Found:
    return Found(id=short(hit.session), title=titles.get(hit.session, ""), seq=hit.seq, kind=hit.kind,
                 line=cutting.head(hit.snippet, MAX_LINE))


def _entry(event: Event, chars: int) -> Entry | None:
    """An event that says something, cut to `chars`; None for the others."""
    text = text_of(event.kind, event.raw).strip()
    if not text:
        return None
    shown = cutting.head(text, chars)
    return Entry(seq=event.seq, kind=event.kind, text=shown, more=len(text) - len(shown))
