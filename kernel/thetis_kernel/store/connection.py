"""Opens SQLite the one way the log allows, reads every setting back, and translates its errors.

The only module that knows pragmas. A setting that does not read back as asked is a refusal to start, because a log
without `synchronous=FULL` loses acknowledged events on a power cut and nobody would notice before.
"""

from __future__ import annotations

import sys
from pathlib import Path

import apsw

from thetis_kernel.errors import StoreError, StoreFull
from thetis_kernel.store.blobs import FULL_ERRNOS

MINIMUM = (3, 51, 3)
"""The first SQLite without the WAL-reset race, in which a checkpoint could skip committed pages."""

PRAGMAS: dict[str, int | str] = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: one sync in each commit
    "recursive_triggers": 1,  # otherwise INSERT OR REPLACE deletes past the append-only triggers
    "trusted_schema": 0,
    "cell_size_check": 1,
    "mmap_size": 0,
    "secure_delete": 1,
    "temp_store": 2,  # memory
}
if sys.platform == "darwin":
    PRAGMAS |= {"fullfsync": 1, "checkpoint_fullfsync": 1}

READER_PRAGMAS = {name: PRAGMAS[name] for name in ("trusted_schema", "cell_size_check", "mmap_size", "temp_store")}
BUSY_MS = 5_000
"""How long to wait for SQLite's own short locks: there is one writer, so only recovery and checkpoints hold any."""


def sqlite_version() -> str:
    """The SQLite in use."""
    return apsw.sqlite_lib_version()


def require_sqlite() -> None:
    """Raise StoreError (`store-version`) unless the SQLite in use is new enough."""
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < MINIMUM:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt the log; at least {'.'.join(map(str, MINIMUM))} is needed",
            hint="Install a newer `apsw`.",
            code="store-version",
        )


def open_writer(path: Path, vfs: str = "") -> apsw.Connection:
    """The only writing connection to `path`, every setting read back. `vfs` names a registered VFS, "" the system's."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs or None)
    try:
        _settle(connection, PRAGMAS)
        connection.wal_autocheckpoint(0)  # the writer checkpoints between commits, so that no acknowledgement waits
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path, vfs: str = "") -> apsw.Connection:
    """A connection that can only read."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs or None)
    try:
        _settle(connection, READER_PRAGMAS)
    except BaseException:
        connection.close()
        raise
    return connection


def _settle(connection: apsw.Connection, pragmas: dict[str, int | str]) -> None:
    connection.set_busy_timeout(BUSY_MS)
    for name, wanted in pragmas.items():
        connection.pragma(name, wanted)
        got = connection.pragma(name)
        if got != wanted:
            raise StoreError(
                f"the database has {name} = {got}, not {wanted}, and the log cannot be trusted to it",
                hint="The file may be on a file system that SQLite's write-ahead log does not support.",
                code="store-setting",
            )
    # Closing must not merge and delete the write-ahead log by itself: as long as the main file says LIVE, it is needed.
    for option in (apsw.SQLITE_DBCONFIG_DEFENSIVE, apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE):
        if connection.config(option, 1) != 1:
            raise StoreError(f"SQLite's option {option} cannot be switched on", code="store-setting")


def failure(error: apsw.Error | OSError, doing: str, connection: apsw.Connection | None = None) -> StoreError:
    """The store's error for SQLite's or the system's; `doing` completes "the event log could not ...".

    No room is StoreFull however it shows: SQLite's own code, or the system's number behind an I/O error.
    """
    number = error.errno if isinstance(error, OSError) else 0
    if isinstance(error, apsw.IOError) and connection is not None:
        number = connection.system_errno
    if isinstance(error, apsw.FullError) or number in FULL_ERRNOS:
        return StoreFull(
            f"the event log could not {doing}: no space is left", hint="Free some space; it goes on by itself."
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreError(
            f"the event log could not {doing}: the database is damaged",
            hint="Start Thetis again: it rebuilds the log from what can be read and keeps the damaged files.",
            code="store-corrupt",
        )
    return StoreError(f"the event log could not {doing}: {error}")
