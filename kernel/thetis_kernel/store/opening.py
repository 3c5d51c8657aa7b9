"""Opens and closes a data directory: lock, checks, database, migrations, and the marks that prove nothing was lost.

The order matters and is written down once, here: nothing is created before it is certain that nothing is missing.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import apsw
import msgspec

from thetis_kernel.clock import Clock
from thetis_kernel.errors import StoreError
from thetis_kernel.store import admission, connection, files, salvage, schema
from thetis_kernel.store.admission import CLEAN, DATABASE, LIVE, Record
from thetis_kernel.store.lock import RootLock

_log = logging.getLogger(__name__)
WAL_BYTES = 4 * 1024 * 1024 + 256 * 1024
"""What the write-ahead log grows to between checkpoints (writer.CHECKPOINT_PAGES pages of 4 KiB, and the last group)."""
ADOPT = "adopt-log"
"""A file of this name in the data directory is a person's word to go on with what is there; it holds for one start."""


class Opened(msgspec.Struct):
    """An open data directory: the writing connection, the lock that makes it the only one, and what people should know."""

    path: Path
    connection: apsw.Connection
    lock: RootLock
    notices: list[str]


def open_directory(data_dir: Path, clock: Clock, vfs: str, adopt: bool) -> Opened:
    """Lock `data_dir` and open its database. Raises StoreLocked or StoreError, and then holds nothing."""
    connection.require_sqlite()
    try:
        files.private_dir(data_dir)
    except OSError as error:
        raise StoreError(f"the data directory {data_dir} cannot be used: {error.strerror}") from error
    data_dir = data_dir.resolve()
    lock = RootLock.acquire(data_dir)
    try:
        return _open_locked(data_dir, lock, clock, vfs, adopt)
    except BaseException:
        lock.release()
        raise


def close_directory(opened: Opened) -> None:
    """Close cleanly: everything into the main file, the header says so, the record remembers how far the log came.

    What cannot be done (no space, a reader still busy) is left for the next start, which recovers from the write-ahead
    log; nothing acknowledged depends on it.
    """
    db = opened.connection
    try:
        db.pragma("user_version", CLEAN)
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        record = Record(admission.database_id(db), admission.high_water(db))
        admission.write_record(opened.path.parent, record)
    except (apsw.Error, OSError) as error:
        _log.warning("the event log was not closed cleanly: %s", type(error).__name__)
    finally:
        db.close(True)
        opened.lock.release()


def _open_locked(data_dir: Path, lock: RootLock, clock: Clock, vfs: str, adopt: bool) -> Opened:
    path = data_dir / DATABASE
    notices: list[str] = []
    adopt = adopt or (data_dir / ADOPT).exists()
    if (data_dir / salvage.MARK).exists():
        notices.append(_rebuilt(path, clock))
    try:
        db = _open_database(path, clock, vfs, adopt, notices)
    except StoreError as error:
        if error.code != "store-corrupt" or notices:
            raise
        notices.append(_rebuilt(path, clock))
        db = _open_database(path, clock, vfs, adopt, notices)
    (data_dir / ADOPT).unlink(missing_ok=True)
    return Opened(path, db, lock, notices)


def _rebuilt(path: Path, clock: Clock) -> str:
    try:
        return salvage.rebuild(path, clock)
    except (apsw.Error, OSError) as error:
        raise connection.failure(error, "be rebuilt") from error


def _open_database(path: Path, clock: Clock, vfs: str, adopt: bool, notices: list[str]) -> apsw.Connection:
    data_dir = path.parent
    record = admission.read_record(data_dir)
    _complain(data_dir, admission.missing_before_open(data_dir, record), adopt, notices)
    live = admission.header_state(path) == (schema.APPLICATION_ID, LIVE)
    try:
        _private(path)
        db = connection.open_writer(path, vfs)
    except (apsw.Error, OSError) as error:
        raise connection.failure(error, "be opened") from error
    try:
        _complain(data_dir, admission.missing_after_open(db, record, path), adopt, notices)
        schema.migrate(db, clock)
        if not live:
            _mark_live(db)
        files.sync_dir(data_dir)
        admission.write_record(data_dir, Record(admission.database_id(db), admission.high_water(db)))
    except (apsw.Error, OSError) as error:
        translated = connection.failure(error, "be opened", db)
        db.close(True)
        raise translated from error
    except BaseException:
        db.close(True)
        raise
    return db


def widen(path: Path) -> None:
    """Give the write-ahead log of the database at `path` its working size at once, in zeros, which SQLite takes for its end.

    A commit that overwrites costs two thirds of one that makes the file longer, whose sync must write the new size as well.
    Only for the thread that writes: nobody else may be appending frames meanwhile.
    """
    wal = path.with_name(f"{path.name}-wal")
    fd = os.open(wal, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)  # SQLite keeps no locks on this file to be lost by closing
    try:
        size = os.fstat(fd).st_size
        os.pwrite(fd, bytes(max(0, WAL_BYTES - size)), size)
        os.fsync(fd)
    finally:
        os.close(fd)


def _complain(data_dir: Path, sentence: str, adopt: bool, notices: list[str]) -> None:
    if sentence and not adopt:
        raise StoreError(
            f"{sentence}.",
            hint="Put the missing file back or restore a backup. To go on with what is there, knowing that events are lost,"
            f" make an empty file {data_dir / ADOPT} and start again.",
            code="store-missing",
        )
    if sentence:
        notices.append(f"{sentence}. The log was opened as it is, as asked.")


def _private(path: Path) -> None:
    """The database file exists and is for its owner alone; SQLite gives its side files the same mode."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


def _mark_live(db: apsw.Connection) -> None:
    """From here on the main file says that it needs its write-ahead log, which by then exists and is synced."""
    db.pragma("user_version", LIVE)
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
