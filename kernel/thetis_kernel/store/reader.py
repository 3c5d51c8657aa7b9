"""Reads verified events on connections of its own, from any thread.

A page is read in one snapshot, checked against the chain, and handed out only if every event in it verifies. The first
event that does not is reported once, and the conversation is refused from there on; others never notice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw
import msgspec

from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import Event
from thetis_kernel.store import chain, connection, ledger
from thetis_kernel.store.blobs import Blobs

PAGE_EVENTS = 1000
PAGE_BYTES = 1 << 20
IDLE_CONNECTIONS = 4
CHUNK = 256
"""Rows asked of SQLite at once: few enough that a page of large bodies reads little in vain."""
_FORM, _BODY = itemgetter(5), itemgetter(6)
UNREADABLE = (apsw.CorruptError, UnicodeDecodeError)
"""What a damaged page or a flipped bit in a text column raises while rows are fetched."""
_ROWS = (
    "SELECT seq, event_id, kind, v, ts_ms, form, body, hash FROM events"
    " WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)


class Line(msgspec.Struct, frozen=True):
    """A conversation's own stretch of the log: rows `first_seq`..`last_seq`, chained to `base`, ending in `head`."""

    num: int
    id: str
    first_seq: int
    last_seq: int
    base: bytes
    head: bytes
    relation: str
    parent: str
    damaged: int


class Reader:
    """A pool of read-only connections. `on_damage(session, first_bad_seq)` hears of each break found."""

    def __init__(self, path: Path, vfs: str, blobs: Blobs, on_damage: Callable[[str, int], None]) -> None:
        self._path = path
        self._vfs = vfs
        self._blobs = blobs
        self._on_damage = on_damage
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def snapshot(self, doing: str = "read") -> Iterator[apsw.Connection]:
        """A connection inside one read transaction. SQLite's errors come out as StoreError, `doing` names the act."""
        db = self._take()
        try:
            db.execute("BEGIN")
            yield db
        except apsw.Error as error:
            raise connection.failure(error, doing, db) from error
        finally:
            self._give_back(db)

    def line(self, db: apsw.Connection, session: str) -> Line:
        """Where the events of `session` (its full id) are. Raises UsageError when there is none."""
        row = db.execute(
            "SELECT num, id, first_seq, last_seq, base, head, relation, parent, damaged FROM sessions WHERE id = ?",
            (session,),
        ).fetchone()
        if row is None:
            raise ledger.no_conversation(session)
        return Line(*row)

    def page(
        self,
        db: apsw.Connection,
        line: Line,
        after: int,
        *,
        upto: int | None = None,
        limit: int = PAGE_EVENTS,
        max_bytes: int = PAGE_BYTES,
        salvage: bool = False,
        sealed: bool = True,
    ) -> list[chain.Row]:
        """Verified rows after event `after`, through event `upto`: at most `limit` and `max_bytes`, but at least one.

        Raises SessionDamaged when one of them does not verify; with `salvage` the good ones before it are the page.
        Seals are taken for proof unless `sealed` is False; then every link is checked.
        """
        after = max(after, line.first_seq - 1)
        last = line.last_seq if upto is None else min(upto, line.last_seq)
        wanted = min(limit, last - after)
        if wanted <= 0:
            return []
        rows, cut = _fetch(db, line.num, after, last, wanted, max_bytes)
        previous = line.base if after < line.first_seq else hash_at(db, line.num, after)
        seals = _seals(db, line.num, after, rows) if sealed else {}
        good = 0 if previous is None else chain.sound(line.id, previous, after, rows, seals)
        whole = good == len(rows) and (cut or good == wanted)
        if whole and after + good == line.last_seq:
            whole = rows[-1][7] == line.head
            good -= 0 if whole else 1
        if whole:
            return rows
        first_bad = after + good + 1
        self._on_damage(line.id, first_bad)
        if salvage:
            return rows[:good]
        raise ledger.damaged(line.id, first_bad)

    def events(self, line: Line, rows: list[chain.Row], *, salvage: bool = False) -> list[Event]:
        """The events of verified rows. A blob that is missing or damaged damages its conversation from there on."""
        session = line.id
        if rows and not any(map(_FORM, rows)):  # by columns, without a step of Python for each row
            seqs, ids, kinds, versions, times, _, bodies, digests = zip(*rows, strict=True)
            hashes = map(bytes.hex, digests)
            return list(map(Event, repeat(session), seqs, ids, times, kinds, versions, bodies, hashes))
        seq = 0
        events: list[Event] = []
        try:
            for seq, event_id, kind, v, ts_ms, form, body, digest in rows:
                raw = ledger.whole(form, body, self._blobs)
                events.append(Event(session, seq, event_id, ts_ms, kind, v, raw, digest.hex()))
        except StoreError as error:
            if error.code not in ("blob-missing", "blob-damaged"):
                raise
            self._on_damage(session, seq)
            if not salvage:
                raise ledger.damaged(session, seq) from error
        return events

    def close(self) -> None:
        """Close the idle connections; one in use is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def _take(self) -> apsw.Connection:
        with self._lock:
            if self._closed:
                raise StoreError("the event log is closed", code="store-closed")
            if self._idle:
                return self._idle.pop()
        try:
            return connection.open_reader(self._path, self._vfs)
        except apsw.Error as error:
            raise connection.failure(error, "be opened for reading") from error

    def _give_back(self, db: apsw.Connection) -> None:
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
        except apsw.Error:
            db.close(True)  # a connection that cannot even end a read is not worth keeping
            return
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(db)
                return
        db.close()


def _fetch(
    db: apsw.Connection, num: int, after: int, last: int, wanted: int, max_bytes: int
) -> tuple[list[Any], bool]:
    """The rows there are, and whether the byte limit ended them. A page SQLite cannot read ends them too."""
    rows: list[Any] = []
    size = 0
    ask = CHUNK
    while len(rows) < wanted:
        at = rows[-1][0] if rows else after
        some, readable = _some(db, num, at, last, min(ask, wanted - len(rows)))
        ask = PAGE_EVENTS  # unless the first were so large that the limit has been reached
        size_here = sum(map(len, map(_BODY, some)))
        if size + size_here > max_bytes or any(map(_FORM, some)):
            for row in some:
                size += len(row[6]) if row[5] == ledger.INLINE else _spilled_size(row[6])
                if rows and size > max_bytes:
                    return rows, True
                rows.append(row)
        else:
            size += size_here
            rows += some
        if not readable or not some:
            break
    return rows, False


def _some(db: apsw.Connection, num: int, after: int, last: int, wanted: int) -> tuple[list[Any], bool]:
    """The next rows, and whether all of them could be read; taken at once unless there is damage to go around."""
    try:
        return db.execute(_ROWS, (num, after, last, wanted)).fetchall(), True
    except UNREADABLE:
        rows: list[Any] = []
        try:
            for row in db.execute(_ROWS, (num, after, last, wanted)):
                rows.append(row)
        except UNREADABLE:
            return rows, False
        return rows, True


def _spilled_size(reference: bytes) -> int:
    try:
        return int(msgspec.json.decode(reference)["size"])
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return 0  # a damaged reference: the chain will say so


def hash_at(db: apsw.Connection, num: int, seq: int) -> bytes | None:
    """The chain's hash at an event; None when it is not there or cannot be read."""
    try:
        row = db.execute("SELECT hash FROM events WHERE session = ? AND seq = ?", (num, seq)).fetchone()
    except UNREADABLE:
        return None
    return bytes(row[0]) if row else None


def _seals(db: apsw.Connection, num: int, after: int, rows: list[Any]) -> dict[int, int]:
    if len(rows) < chain.RUN:
        return {}
    try:
        found: list[Any] = db.execute(
            "SELECT seq, crc FROM seals WHERE session = ? AND seq > ? AND seq <= ?",
            (num, after, after + len(rows)),
        ).fetchall()
    except UNREADABLE:
        return {}
    return dict(found)
