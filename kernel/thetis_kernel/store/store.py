"""`Store`: the event log's one door, and the only opener of the database.

Writes go to one thread and answer with a `concurrent.futures.Future` once they are durable; asyncio callers use
`asyncio.wrap_future`. What was handed over is written even if its future is cancelled or forgotten, and refusals come
through the future as well. Reads run in the calling thread on connections of their own and never wait for writes.
Every method may be called from any thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import apsw

from thetis_kernel.clock import SYSTEM, Clock
from thetis_kernel.errors import StoreError, ThetisError, UsageError
from thetis_kernel.protocol.events import Body, Event, SessionStarted, Unknown, kind_of
from thetis_kernel.store import (
    admission,
    archive,
    connection,
    foldcache,
    folds,
    heads,
    history,
    ledger,
    names,
    opening,
    recovery,
    removal,
    salvage,
    scrub,
    search,
)
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.ledger import Entry, Ledger, Request
from thetis_kernel.store.reader import PAGE_BYTES, PAGE_EVENTS, Reader
from thetis_kernel.store.rows import Hit, SessionRow, Tombstone, Verdict
from thetis_kernel.store.space import Space
from thetis_kernel.store.writer import Writer

MAX_BODY = 64 * 1024 * 1024
"""Bytes of one event's body: an event is held in memory whole."""
MAX_VALUE = 1024 * 1024
"""Bytes of one cached value."""

__all__ = ["Hit", "SessionRow", "Store", "Tombstone", "Verdict"]
T = TypeVar("T")


class Store:
    """An open event log. `notices` are sentences for people about what opening found."""

    def __init__(self, opened: opening.Opened, clock: Clock, vfs: str, space: Space) -> None:
        """Use `Store.open`."""
        db = opened.connection
        self.data_dir = opened.path.parent
        self.blobs = Blobs(self.data_dir / "blobs")
        self.notices = opened.notices
        self._opened = opened
        self._vfs = vfs
        self._clock = clock
        self._space = space
        self._index = search.SearchIndex(db, self.blobs)
        self._ledger = Ledger(db, self.blobs, clock, admission.high_water(db))
        self._reader = Reader(opened.path, vfs, self.blobs, self._note_damage)
        self._noted: dict[str, int] = {}
        self._lock = threading.Lock()
        self._open = True
        self._live = admission.LiveFiles(opened.path)
        mark = self.data_dir / salvage.MARK
        self._writer = Writer(db, self._ledger, self._index, space, self._live, mark)
        self._writer.start()
        self._writer.call(lambda: removal.empty_trash(db, self.blobs))
        if space.prepare():
            self._writer.call(lambda: opening.widen(opened.path))

    @classmethod
    def open(
        cls,
        data_dir: Path,
        *,
        clock: Clock = SYSTEM,
        vfs: str = "",
        adopt: bool = False,
        free: Callable[[], int] | None = None,
    ) -> Store:
        """Open the log in `data_dir`, made if there is none.

        `vfs` names a registered SQLite VFS. `adopt` goes on with a log of which a part is provably missing. `free` gives
        the device's free bytes (default: asks the system). Raises StoreLocked when another kernel has it, StoreFull, or
        StoreError with a code: store-version, store-setting, store-missing, store-newer, store-corrupt, store-record.
        """
        opened = opening.open_directory(data_dir, clock, vfs, adopt)
        try:
            store = cls(opened, clock, vfs, Space(opened.path.parent, free))
        except (apsw.Error, OSError) as error:
            translated = connection.failure(error, "be opened", opened.connection)
            opening.close_directory(opened)
            raise translated from error
        if opened.notices:
            store.verify_all()  # something is missing: what lost events is to be refused before it is appended to
        return store

    def close(self) -> None:
        """Write what was handed over, close cleanly, give the root back. Safe to call twice."""
        with self._lock:
            was_open, self._open = self._open, False
        if was_open:
            self._writer.close()
            self._reader.close()
            self._live.close()
            opening.close_directory(self._opened)

    def accepts_turns(self) -> bool:
        """Whether there is room for a new turn; False on a nearly full device until space returns."""
        return self._space.accepts_turns()

    # Writing. `append` and `append_many` answer with a future; the rare writes below them wait for their own.

    def create(self, session: str, body: SessionStarted, *, event_id: str = "") -> Event:
        """Make the conversation `session` (16 hex digits) with its first event; the same again gives that event.

        A fork (`relation` fork) reads its parent's events up to `parent_seq` as its own beginning, and its numbers go on
        from there. Raises UsageError: `id-taken` (take another id), `deleted`, `no-session` (no such parent).
        """
        names.check_session_id(session)
        entry = self._entry(body, event_id or f"{session}:start")
        return self._writer.call(lambda: self._ledger.start(session, entry)).result()

    def append(
        self,
        session: str,
        body: Body | Unknown,
        *,
        event_id: str = "",
        lease: int | None = None,
        expected_seq: int | None = None,
    ) -> Future[Event]:
        """Append one event; answered once it is durable.

        An `event_id` already in the log gives the old event, so a retry after an unknown outcome is safe. `lease`: the
        epoch from `take_lease`; an older one than the newest fails with LeaseLost. `expected_seq`: the number the event
        must get, else StoreError `seq-conflict`. Fails with UsageError `no-session`, SessionDamaged, StoreFull, StoreError.
        """
        return self._append(session, [(body, event_id)], lease, expected_seq, single=True)

    def append_many(
        self,
        session: str,
        bodies: Sequence[Body | Unknown | tuple[Body | Unknown, str]],
        *,
        lease: int | None = None,
        expected_seq: int | None = None,
    ) -> Future[list[Event]]:
        """Append several events (each a body, or a body and its event id) together or not at all; see `append`."""
        pairs = [item if isinstance(item, tuple) else (item, "") for item in bodies]
        return self._append(session, pairs, lease, expected_seq, single=False)

    def take_lease(self, session: str) -> int:
        """Become the only writer of `session` that uses leases: the new epoch. Older epochs are refused from then on."""
        db, now = self._opened.connection, self._clock.now_ms()

        def work() -> int:
            head = self._ledger.head(session)
            head.epoch += 1
            db.execute("INSERT OR REPLACE INTO leases VALUES(?, ?, ?)", (head.num, head.epoch, now))
            return head.epoch

        return self._writer.call(work).result()

    def delete(self, session: str) -> Tombstone:
        """Delete a conversation whole, its sub-agents' too; a tombstone stays. UsageError `has-forks` names what needs it."""
        db = self._opened.connection
        deleted = self._writer.call(
            lambda: removal.delete(db, self._ledger, self._index, session, self._clock.now_ms())
        )
        self._writer.call(lambda: removal.empty_trash(db, self.blobs))
        self._purge(first=True)
        return deleted.result()

    def kv_put(self, scope: str, key: str, value: bytes | None) -> None:
        """Keep a cached value, None to drop it. Nothing that matters may live here alone: the log is the truth."""
        if value is not None and len(value) > MAX_VALUE:
            raise UsageError(f"a cached value of {len(value)} bytes is too large; the limit is {MAX_VALUE}")
        db = self._opened.connection

        def work() -> None:
            if value is None:
                db.execute("DELETE FROM kv WHERE scope = ? AND key = ?", (scope, key))
            else:
                db.execute("INSERT OR REPLACE INTO kv VALUES(?, ?, ?)", (scope, key, value))

        self._writer.call(work).result()

    def sweep(self) -> int:
        """Remove blobs that crashes left without an event, if a day old; how many files went. Slow with many blobs."""
        return self._writer.call(lambda: removal.sweep(self._opened.connection, self.blobs)).result()

    # Reading

    def read(
        self,
        session: str,
        after: int = 0,
        limit: int = PAGE_EVENTS,
        max_bytes: int = PAGE_BYTES,
        *,
        salvage: bool = False,
    ) -> list[Event]:
        """The conversation's own events after number `after`: at most `limit` and `max_bytes`, but one if there is one.

        Read until a page is empty. Every event is checked; SessionDamaged says in `data["seq"]` how far the log is good.
        With `salvage` the good events of the page are returned instead, and empty pages from the damage on.
        """
        with self._reader.snapshot() as db:
            line = self._reader.line(db, session)
            rows = self._reader.page(db, line, after, limit=limit, max_bytes=max_bytes, salvage=salvage)
        return self._reader.events(line, rows, salvage=salvage)

    def read_projected(
        self, session: str, after: int = 0, max_bytes: int = PAGE_BYTES, limit: int = PAGE_EVENTS
    ) -> tuple[list[Event], bool]:
        """The conversation as it stands, after number `after`, and whether these events are its last.

        Inherited events come first, only the live branch is there, and compacted spans are left out; the compaction keeps
        its own place. Numbers ascend along the whole line, so the last one read is the next `after`.
        """
        return history.projected(self._reader, session, after, max_bytes, limit)

    def iterate(self, session: str, *, live: bool = False, after: int = 0) -> Iterator[Event]:
        """All events of the conversation's line after number `after`, a fork's inherited ones first.

        With `live` without rewound branches.
        """
        return history.raw(self._reader, session, live=live, after=after)

    def state(self, session: str) -> folds.SessionState:
        """The fold over `iterate`: what the conversation is now."""
        kept = foldcache.decoded(self.kv_get(session, foldcache.KEY))
        before = kept.state.seq if kept else 0
        folded = history.state(self._reader, session, kept)
        if folded.seq - before >= foldcache.EVERY:
            digest = history.digest(self._reader, session, folded.seq)
            self.keep_fold(session, foldcache.encoded(folded, digest) if digest else b"")
        return folded

    def keep_fold(self, session: str, raw: bytes) -> None:
        """Keep what `foldcache.encoded` made, for `state` to begin with; nothing when that fails, it is a cache."""
        if raw:
            with contextlib.suppress(StoreError):
                self.kv_put(session, foldcache.KEY, raw)

    def find_event(self, event_id: str) -> Event | None:
        """The event with that id, None when it is not in the log."""
        with self._reader.snapshot() as db:
            return ledger.find(db, event_id, self.blobs)

    def repairs(self, session: str, *, after: int = 0) -> list[Body]:
        """What must be appended before a conversation that was cut can go on; see `recovery`.

        `after`: a number up to which nothing is owed, such as the one before the open turn's start; saves reading so far.
        """
        return recovery.repairs(self.iterate(session, live=True, after=after))

    def last_seq(self, session: str) -> int:
        """The number of the conversation's newest event."""
        with self._reader.snapshot() as db:
            return self._reader.line(db, session).last_seq

    def sessions(self) -> list[SessionRow]:
        """All conversations, the last used first."""
        with self._reader.snapshot("list conversations") as db:
            return heads.rows(db)

    def session(self, id_or_prefix: str) -> SessionRow:
        """The conversation whose id begins so. UsageError `no-session`, or `ambiguous` naming the candidates."""
        prefix = names.check_prefix(id_or_prefix)
        with self._reader.snapshot("find a conversation") as db:
            found = heads.rows(db, "id >= ? AND id < ?", (prefix, prefix + "g"))
        if not found:
            hint = "`thetis ls` lists those of this root."
            raise UsageError(f"there is no conversation {prefix}", hint=hint, code="no-session")
        if len(found) > 1:
            listed = ", ".join(f"{row.short_id} ({row.title})" for row in found[:8])
            raise UsageError(f"{prefix} may be any of {listed}", hint="Give more of the id.", code="ambiguous")
        return found[0]

    def search(self, query: str, limit: int = 50, session: str = "") -> list[Hit]:
        """Events that hold all words of `query` (the last may be a beginning), newest first, of one or all conversations."""
        with self._reader.snapshot("search") as db:
            hits, sound = search.find(db, self.blobs, query, limit, session)
        if not sound:
            self._writer.call(self._index.rebuild)
        return hits

    def lease_epoch(self, session: str) -> int:
        """The newest lease's epoch, 0 when none was taken."""
        with self._reader.snapshot() as db:
            num = self._reader.line(db, session).num
            return int(db.execute("SELECT ifnull(max(epoch), 0) FROM leases WHERE session = ?", (num,)).get)

    def kv_get(self, scope: str, key: str) -> bytes | None:
        """A cached value, None when there is none."""
        with self._reader.snapshot() as db:
            row = db.execute("SELECT value FROM kv WHERE scope = ? AND key = ?", (scope, key)).fetchone()
        return bytes(row[0]) if row else None

    def tombstone(self, session: str) -> Tombstone | None:
        """What is left of a deleted conversation, None for one that was not deleted."""
        with self._reader.snapshot() as db:
            row = db.execute(
                "SELECT id, last_seq, head, deleted_ms FROM tombstones WHERE id = ?", (session,)
            ).fetchone()
        return Tombstone(row[0], row[1], row[2].hex(), row[3]) if row else None

    # Care

    def verify(self, session: str) -> Verdict:
        """Check every event of a conversation. One that is sound again (a repaired disk) is released from quarantine."""
        verdict = archive.verify(self._reader, session)
        first_bad = 0 if verdict.sound else verdict.good_seq + 1
        if self.session(session).damaged != first_bad:
            self._writer.call(lambda: self._set_damaged(session, first_bad)).result()
        with self._lock:
            self._noted[session] = first_bad
        return verdict

    def verify_all(self) -> list[Verdict]:
        """`verify` for every conversation."""
        return [self.verify(row.id) for row in self.sessions()]

    def reindex(self) -> None:
        """Begin the search index anew; searches are complete, only slower, until it has caught up."""
        self._writer.call(self._index.rebuild).result()

    def backup(self, target: Path) -> None:
        """Copy the whole log, as of one moment, to the new or empty directory `target`: a data directory of its own."""
        archive.backup(self._opened.path, self._vfs, self.blobs, target)

    def _entry(self, body: Body | Unknown, event_id: str) -> Entry:
        body, raw = scrub.safe(body)
        if len(raw) > MAX_BODY:
            raise StoreError(f"an event of {len(raw)} bytes is too large; the limit is {MAX_BODY}", code="body-invalid")
        kind = names.check_kind(body.kind) if isinstance(body, Unknown) else kind_of(body)
        return Entry(names.check_event_id(event_id), kind, raw, body)

    def _append(
        self,
        session: str,
        pairs: Sequence[tuple[Body | Unknown, str]],
        lease: int | None,
        expected_seq: int | None,
        *,
        single: bool,
    ) -> Future[T]:
        try:
            entries = [self._entry(body, event_id) for body, event_id in pairs]
        except ThetisError as error:
            return _failed(error)
        future: Future[T] = Future()
        self._writer.append(Request(session, entries, future, lease, expected_seq, single))
        return future

    def _note_damage(self, session: str, first_bad: int) -> None:
        """A reader met damage: refuse appends from now on, and remember it once."""
        with self._lock:
            if self._noted.get(session) == first_bad or not self._open:
                return
            self._noted[session] = first_bad
        self._writer.call(lambda: self._set_damaged(session, first_bad))

    def _set_damaged(self, session: str, first_bad: int) -> None:
        head = self._ledger.head(session)
        head.damaged = first_bad
        self._opened.connection.execute("UPDATE sessions SET damaged = ? WHERE num = ?", (first_bad, head.num))

    def _purge(self, first: bool) -> None:
        """Rewrite the index without what was deleted, a piece at a time so that appends come between."""

        def work() -> None:
            if self._index.purge_step(first):
                self._purge(first=False)

        self._writer.call(work)


def _failed(error: ThetisError) -> Future[T]:
    future: Future[T] = Future()
    future.set_exception(error)
    return future
