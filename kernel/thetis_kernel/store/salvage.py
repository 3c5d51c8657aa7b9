"""Rebuilds a database that SQLite cannot use as a whole from the rows that can still be read.

The damaged files are set aside, never changed or removed. Every readable row goes into the new database as it was, hashes
included, so the chain tells afterwards which conversations lost something: those are quarantined, the others go on. What
follows from the rows (references to blobs, seals, the search index) is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from thetis_kernel.clock import Clock
from thetis_kernel.errors import StoreError
from thetis_kernel.protocol import ids
from thetis_kernel.protocol.events import BlobRef, SessionStarted, decode_body
from thetis_kernel.store import admission, connection, files, heads, ledger, schema
from thetis_kernel.store.heads import Head

MARK = "thetis.db.damaged"
"""Left by a kernel that met damage it could not write past: the next start rebuilds. "whole" inside: only swap is left."""
_WHOLE = b"whole"
_FARTHEST = 2**40


def rebuild(path: Path, clock: Clock) -> str:
    """Put a rebuilt database in the place of the one at `path`; a sentence for people.

    Can be cut anywhere and begun again. Raises StoreError `store-corrupt` when nothing can be read; then nothing moved.
    """
    new, mark = path.with_name(f"{path.name}.rebuilt"), path.with_name(MARK)
    if not (mark.exists() and mark.read_bytes() == _WHOLE and new.exists()):
        _build(path, new, clock)
        files.replace(mark, _WHOLE)
    aside = _swap(path, new, clock)
    mark.unlink()
    files.sync_dir(path.parent)
    return f"The database was damaged and has been rebuilt from what could be read; the damaged files are in {aside}."


def _build(path: Path, new: Path, clock: Clock) -> None:
    source = _open_damaged(path)
    try:
        for leftover in path.parent.glob(f"{new.name}*"):
            leftover.unlink()
        files.write_new(new, b"")
        target = connection.open_writer(new)
        try:
            schema.migrate(target, clock)
            with target:
                _copy(source, target)
            target.pragma("user_version", admission.CLEAN)
            target.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            record = admission.Record(admission.database_id(target), admission.high_water(target))
        finally:
            target.close(True)
        admission.write_record(path.parent, record)
    finally:
        source.close(True)


def _swap(path: Path, new: Path, clock: Clock) -> Path:
    aside = path.with_name(f"damaged-{clock.now_ms()}")
    files.private_dir(aside)
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        if path.with_name(name).exists():
            path.with_name(name).rename(aside / name)
    files.sync_dir(aside)
    new.rename(path)
    for side in path.parent.glob(f"{new.name}-*"):
        side.unlink()
    return aside


def _open_damaged(path: Path) -> apsw.Connection:
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # writable_schema lets SQLite open a file shorter than its header says; query_only keeps it from writing there.
        source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        source.pragma("writable_schema", 1)
        source.pragma("query_only", 1)
        source.execute("SELECT count(*) FROM events WHERE gid = 1").fetchall()
    except apsw.Error as error:
        source.close(True)
        raise StoreError(
            f"{path} is damaged beyond reading: {error}", hint="Restore a backup.", code="store-corrupt"
        ) from error
    return source


def _copy(source: apsw.Connection, target: apsw.Connection) -> None:
    for key, value in _rows(source, "meta"):
        if key == "database":
            target.execute("UPDATE meta SET value = ? WHERE key = 'database'", (value,))
    for row in _rows(source, "events"):
        if _insert(target, "events", row):
            for digest in _references(row):
                target.execute("INSERT OR IGNORE INTO blob_refs VALUES(?, ?)", (digest, row[1]))
    # After the events: tombstones forbid some of them, and a conversation's row would follow those that are left and no
    # longer say how many there were.
    for table in ("tombstones", "sessions", "leases", "kv"):
        for row in _rows(source, table):
            _insert(target, table, row)
    _name_the_nameless(target)


def _insert(target: apsw.Connection, table: str, row: tuple[Any, ...]) -> bool:
    """Whether the row fits: one whose numbers or texts were damaged into another's place does not."""
    try:
        target.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(row))})", row)
    except (apsw.ConstraintError, apsw.SQLError):
        return False
    return True


def _references(row: tuple[Any, ...]) -> list[str]:
    kind, form, body = row[4], row[7], row[8]
    try:
        if form == ledger.SPILLED:
            return [msgspec.json.decode(body, type=BlobRef).digest]
        return ledger.references(decode_body(kind, body))
    except msgspec.MsgspecError:
        return []


def _rows(source: apsw.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Every row of a table that can be read, around whatever cannot."""
    at: int | None = 0
    while at is not None:
        try:
            found: Iterator[Any] = source.execute(f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid", (at,))
            for rowid, *row in found:
                at = int(rowid)
                yield tuple(row)
            return
        except (apsw.CorruptError, apsw.IOError, UnicodeDecodeError):
            at = _beyond(source, table, at)


def _beyond(source: apsw.Connection, table: str, at: int) -> int | None:
    """A place past what cannot be read after row `at`, as near to it as can be found; None at the end of the table."""
    readable, following = _next(source, table, at)
    if readable:
        return following  # the row itself is bad, its neighbours are not
    step = 1
    while step < _FARTHEST and not _next(source, table, at + step)[0]:
        step *= 2
    if step >= _FARTHEST:
        return None
    low, high = step // 2, step
    while high - low > 1:
        middle = (low + high) // 2
        if _next(source, table, at + middle)[0]:
            high = middle
        else:
            low = middle
    return at + high


def _next(source: apsw.Connection, table: str, at: int) -> tuple[bool, int | None]:
    """Whether the table can be walked on from row `at`, and to which row."""
    try:
        found = source.execute(f"SELECT rowid FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1", (at,)).fetchone()
    except (apsw.CorruptError, apsw.IOError):
        return False, None
    return True, int(found[0]) if found else None


def _name_the_nameless(target: apsw.Connection) -> None:
    """Rows for conversations whose own row was lost: their first event says what they are, its id says their name."""
    lost: list[Any] = target.execute(
        "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT num FROM sessions)"
        " AND session NOT IN (SELECT session FROM tombstones)"
    ).fetchall()
    for (num,) in lost:
        rows: list[Any] = target.execute(
            "SELECT seq, event_id, kind, ts_ms, form, body, hash FROM events WHERE session = ? ORDER BY seq", (num,)
        ).fetchall()
        seq, event_id, kind, ts_ms, _, body, _ = rows[0]
        session = event_id.removesuffix(":start")
        if kind != "session-started" or not ids.SESSION_ID.fullmatch(session):
            continue
        started = msgspec.json.decode(body, type=SessionStarted)
        base = _base(target, started)
        head = Head(
            num, session, started.origin, seq, base, rows[-1][0], rows[-1][6], rows[-1][3], "", "", started.mode,
            started.model, 0, "", 0, 0, 0,
        )  # fmt: skip
        for row in rows:
            if row[4] == ledger.INLINE:
                _fold(head, row[2], row[5])
        heads.insert(target, started, head, ids.short(session), ts_ms)


def _base(target: apsw.Connection, started: SessionStarted) -> bytes:
    """What the first event was chained to; for a fork it is read from the parent if that is there."""
    if started.relation != "fork":
        return bytes(32)
    row: Any = target.execute(
        "SELECT hash FROM events WHERE seq = ? AND session = (SELECT num FROM sessions WHERE id = ?)",
        (started.parent_seq, started.parent),
    ).fetchone()
    return bytes(row[0]) if row else bytes(32)


def _fold(head: Head, kind: str, raw: bytes) -> None:
    """Take a stored event into a head's folded columns, if it can be read."""
    try:
        head.fold(decode_body(kind, raw))
    except msgspec.MsgspecError:
        return
