"""What one append means inside a transaction: checks, numbers, chain, rows, seals, references.

Runs in the writer's thread on the writing connection. A request is checked whole before its first row is written, so a
refused one leaves nothing behind in a group it shares with others. Heads changed here become known only by `commit`.
"""

from __future__ import annotations

import random
from concurrent.futures import Future
from typing import Any

import apsw
import msgspec

from thetis_kernel.clock import Clock
from thetis_kernel.errors import LeaseLost, Refused, SessionDamaged, StoreError, ThetisError, UsageError
from thetis_kernel.protocol import ids
from thetis_kernel.protocol.events import (
    BODY_VERSION,
    BlobRef,
    Body,
    Event,
    Nudge,
    Queued,
    SessionStarted,
    SettingChanged,
    ToolResult,
    Unknown,
    User,
)
from thetis_kernel.store import chain, heads
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.heads import Head

INLINE_LIMIT = 64 * 1024
"""Bytes of a body kept in its row; larger ones are blobs. Rows beyond this would dominate the write-ahead log."""
INLINE, SPILLED = 0, 1
"""A row's `form`: the body itself, or a BlobRef to it."""


class Entry(msgspec.Struct):
    """One event to be: `event_id` "" gets a fresh one; `raw` is the scrubbed encoding of `body`."""

    event_id: str
    kind: str
    raw: bytes
    body: Body | Unknown
    blob: BlobRef | None = None


class Request(msgspec.Struct):
    """Events of one conversation that are appended together or not at all, and who wants to know."""

    session: str
    entries: list[Entry]
    future: Future[Any]
    lease: int | None = None
    expected_seq: int | None = None
    single: bool = True

    def size(self) -> int:
        """Bytes of all bodies."""
        return sum(len(entry.raw) for entry in self.entries)


class Ledger:
    """The appending half of the log. Use: any number of `append`, then `flush`, COMMIT and `commit`, or `rollback`."""

    def __init__(self, connection: apsw.Connection, blobs: Blobs, clock: Clock, high_water: int) -> None:
        self._connection = connection
        self._blobs = blobs
        self._clock = clock
        self._heads: dict[str, Head] = {}
        self._touched: dict[str, Head] = {}
        self._random = random.Random()  # names, not secrets: seeded by the system once, where a call each costs 5 us
        self._gid = high_water
        self._next_gid = high_water + 1

    @property
    def last_gid(self) -> int:
        """The highest row number used, uncommitted ones included."""
        return self._next_gid - 1

    def head(self, session: str) -> Head:
        """The head of `session` as of now, to be changed freely. Raises UsageError when there is none."""
        head = self._touched.get(session)
        if head is None:
            head = self._heads.get(session) or heads.load(self._connection, session)
            if head is None:
                raise no_conversation(session)
            self._touched[session] = head
        return head

    def start(self, session: str, entry: Entry) -> Event:
        """Make a conversation and its first event. The same id started again by the same event is the old event."""
        started = entry.body
        if not isinstance(started, SessionStarted):
            raise UsageError("a conversation begins with session-started")
        known = self._known(session, entry)
        if known is not None:
            return known
        connection = self._connection
        if connection.execute("SELECT 1 FROM tombstones WHERE id = ?", (session,)).fetchone():
            raise UsageError(f"the conversation {ids.short(session)} was deleted", code="deleted")
        short_id = ids.short(session)
        if connection.execute("SELECT 1 FROM sessions WHERE short_id = ?", (short_id,)).fetchone():
            raise UsageError(f"there is a conversation {short_id} already", hint="Take another id.", code="id-taken")
        first_seq, base, title, preview = 1, chain.ZERO, "", ""
        if started.relation:
            parent = self.head(started.parent)
            if started.relation == "child" and self._is_child(parent.num):
                raise Refused(f"{ids.short(parent.id)} is a sub-agent and can have none.", capability="delegate")
            if started.relation == "fork":
                if 0 < parent.damaged <= started.parent_seq:
                    raise damaged(parent.id, parent.damaged)
                first_seq, base = started.parent_seq + 1, self._hash_at(parent, started.parent_seq)
                title, preview = parent.title, parent.preview
        now = self._clock.now_ms()
        num = 1 + connection.execute(
            "SELECT max(ifnull((SELECT max(num) FROM sessions), 0), ifnull((SELECT max(session) FROM tombstones), 0))"
        ).get  # fmt: skip
        head = Head(
            num, session, started.origin, first_seq, base, first_seq - 1, base, now, title, preview,
            started.mode, started.model, 0, "", 0, 0, 0,
        )  # fmt: skip
        heads.insert(connection, started, head, short_id, now)
        self._touched[session] = head
        self._spill(entry)
        return self._write(head, entry, now)

    def _is_child(self, num: int) -> bool:
        return bool(self._connection.execute("SELECT relation = 'child' FROM sessions WHERE num = ?", (num,)).get)

    def append(self, request: Request) -> list[Event]:
        """The events of `request`, new or (by event id) those already there.

        Raises LeaseLost, SessionDamaged, UsageError, Refused or StoreError before anything was written for it.
        """
        head = self.head(request.session)
        if request.lease is not None and request.lease != head.epoch:
            raise LeaseLost(
                f"the conversation {ids.short(head.id)} has a newer worker", lease=request.lease, epoch=head.epoch
            )
        if len(request.entries) == 1:
            return [self._append_one(head, request, request.entries[0])]
        known = [self._known(head.id, entry) for entry in request.entries]
        if None in known:
            self._check(head, request)
        now = self._clock.now_ms()
        events: dict[str, Event] = {}
        result: list[Event] = []
        for entry, old in zip(request.entries, known, strict=True):
            event = old or events.get(entry.event_id) or self._write(head, entry, now)
            if entry.event_id:
                events[entry.event_id] = event
            result.append(event)
        return result

    def flush(self) -> None:
        """Write what the heads folded. The last step before COMMIT."""
        for head in self._touched.values():
            if head.folded:
                heads.save(self._connection, head)
                head.folded = False

    def commit(self) -> None:
        """The transaction is durable, and so is what its heads say."""
        self._heads.update(self._touched)
        self._touched.clear()
        self._gid = self._next_gid - 1

    def rollback(self) -> None:
        """The transaction never was: its heads are read again, because its outcome on disk may be unknown."""
        for session in self._touched:
            self._heads.pop(session, None)
        self._touched.clear()
        self._next_gid = self._gid + 1

    def forget(self, session: str) -> None:
        """Drop what is known of a conversation whose row was changed by other means."""
        self._heads.pop(session, None)
        self._touched.pop(session, None)

    def _append_one(self, head: Head, request: Request, entry: Entry) -> Event:
        """The usual request. A known event id shows as a conflict, which costs the other events nothing."""
        try:
            self._check(head, request)
            return self._write(head, entry, self._clock.now_ms())
        except (ThetisError, apsw.ConstraintError):
            known = self._known(head.id, entry)
            if known is None:
                raise
            return known

    def _known(self, session: str, entry: Entry) -> Event | None:
        """The event that already has this entry's id."""
        if not entry.event_id:
            return None
        known = find(self._connection, entry.event_id, self._blobs)
        if known is not None and known.session != session:
            raise StoreError(f"the event id {entry.event_id} belongs to another conversation", code="event-id-reused")
        return known

    def _check(self, head: Head, request: Request) -> None:
        """Everything that may refuse new rows, blobs included, before the first one is written."""
        if head.damaged:
            raise damaged(head.id, head.damaged)
        if request.expected_seq is not None and request.expected_seq != head.last_seq + 1:
            raise StoreError(
                f"the conversation {ids.short(head.id)} is at event {head.last_seq}, so the next is not"
                f" {request.expected_seq}",
                code="seq-conflict",
                last_seq=head.last_seq,
            )
        for entry in request.entries:
            body = entry.body
            if isinstance(body, SessionStarted):
                raise UsageError("a conversation starts once, by `create`")
            if isinstance(body, SettingChanged) and body.name == "mode" and head.origin == "discord":
                raise Refused("the mode of a conversation from Discord is fixed", capability="mode")
            for digest in references(body):
                if digest not in self._blobs:
                    raise StoreError(f"the blob {digest} is missing", code="blob-missing", digest=digest)
            self._spill(entry)

    def _spill(self, entry: Entry) -> None:
        """Put a large body where its row can point at it."""
        if len(entry.raw) > INLINE_LIMIT and entry.blob is None:
            entry.blob = self._blobs.put(entry.raw, media_type="application/json")

    def _write(self, head: Head, entry: Entry, now: int) -> Event:
        """One new row, chained to the head; the head moves on."""
        connection = self._connection
        event_id = entry.event_id or f"{self._random.getrandbits(128):032x}"
        form, stored, digests = INLINE, entry.raw, references(entry.body)
        if entry.blob is not None:
            form, stored, digests = SPILLED, msgspec.json.encode(entry.blob), [*digests, entry.blob.digest]
        seq = head.last_seq + 1
        columns = (seq, event_id, entry.kind, BODY_VERSION, now, form, stored)
        digest = chain.link(head.head, head.id, columns)
        connection.execute(
            "INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?,?)", (self._next_gid, head.num, *columns, digest)
        )
        for reference_digest in digests:
            connection.execute("INSERT OR IGNORE INTO blob_refs VALUES(?, ?)", (reference_digest, head.num))
        self._next_gid += 1
        head.last_seq, head.head, head.updated_ms = seq, digest, now
        head.fold(entry.body)
        if seq % chain.RUN == 0:
            self._seal(head)
        return Event(head.id, seq, event_id, now, entry.kind, BODY_VERSION, entry.raw, digest.hex())

    def _seal(self, head: Head) -> None:
        """Seal the run that ends at the head, if it is whole and sound."""
        before = head.last_seq - chain.RUN
        rows: list[Any] = self._connection.execute(
            "SELECT seq, event_id, kind, v, ts_ms, form, body, hash FROM events WHERE session = ? AND seq > ? ORDER BY seq",
            (head.num, before),
        ).fetchall()
        if len(rows) < chain.RUN or chain.sound(head.id, self._hash_at(head, before), before, rows, {}) < chain.RUN:
            return
        self._connection.execute(
            "INSERT INTO seals VALUES(?, ?, ?)", (head.num, head.last_seq, chain.seal(head.id, rows))
        )

    def _hash_at(self, head: Head, seq: int) -> bytes:
        """The hash of event `seq` in the line of `head`, its parents' events included."""
        if seq == head.first_seq - 1:
            return head.base
        row = self._connection.execute(
            "SELECT hash FROM events WHERE session = ? AND seq = ?", (head.num, seq)
        ).fetchone()
        if row is not None:
            return bytes(row[0])
        parent = self._connection.execute(
            "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent"
            " WHERE s.num = ? AND s.relation = 'fork' AND ? < s.first_seq",
            (head.num, seq),
        ).fetchone()
        if parent is None:
            raise UsageError(f"the conversation {ids.short(head.id)} has no event {seq}")
        return self._hash_at(self.head(parent[0]), seq)


def find(connection: apsw.Connection, event_id: str, blobs: Blobs) -> Event | None:
    """The event with the id `event_id`, of whatever conversation. It is not checked against the chain."""
    row: Any = connection.execute(
        "SELECT s.id, e.seq, e.event_id, e.kind, e.v, e.ts_ms, e.form, e.body, e.hash"
        " FROM events e JOIN sessions s ON s.num = e.session WHERE e.event_id = ?",
        (event_id,),
    ).fetchone()
    if row is None:
        return None
    session, seq, event_id, kind, v, ts_ms, form, body, digest = row
    return Event(session, seq, event_id, ts_ms, kind, v, whole(form, body, blobs), digest.hex())


def whole(form: int, body: bytes, blobs: Blobs) -> bytes:
    """A stored body as it was appended, read back from its blob when it was spilled."""
    return body if form == INLINE else blobs.get(msgspec.json.decode(body, type=BlobRef).digest)


def references(body: Body | Unknown) -> list[str]:
    """Digests of the blobs a body points at."""
    return [one.digest for one in body.attachments] if isinstance(body, User | Nudge | Queued | ToolResult) else []


def no_conversation(session: str) -> UsageError:
    """The error for an id nobody knows."""
    return UsageError(f"there is no conversation {session}", code="no-session")


def damaged(session: str, first_bad: int) -> SessionDamaged:
    """The error for a conversation whose event `first_bad` does not verify."""
    return SessionDamaged(
        f"the conversation {ids.short(session)} is damaged from event {first_bad} on",
        hint="It can be read up to there and forked there; the other conversations are not affected.",
        session=session,
        seq=first_bad - 1,
    )
