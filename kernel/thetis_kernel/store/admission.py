"""Decides whether the files found are the whole of the log that was left here, and keeps what proves it.

Two things make loss visible. The database's own header says `LIVE` from the first commit of a run until a clean close,
and while it does, its write-ahead log belongs to it: a database copied or left without that file lacks acknowledged
events. A small record beside it remembers which database this root has and how far it had come, so that a database
which is gone, empty, another's or an older copy is never mistaken for a fresh start. Only reads files and headers.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import msgspec

from thetis_kernel.errors import StoreError
from thetis_kernel.store import files
from thetis_kernel.store.schema import APPLICATION_ID

DATABASE = "thetis.db"
RECORD = "thetis.db.record"
CLEAN, LIVE = 1, 2
"""The header's user_version: closed with everything in the main file, or in need of its write-ahead log. 0 is new."""

_MAGIC = b"SQLite format 3\0"
_WAL_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_WAL_HEADER = 32


class Record(msgspec.Struct, frozen=True):
    """Which database this root has (its random id) and the highest row it is known to have held."""

    database: str
    gid: int


def read_record(data_dir: Path) -> Record | None:
    """The record, or None when there is none. An unreadable one is damage, not absence."""
    path = data_dir / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise StoreError(
            f"{path} cannot be read: {error}",
            hint="Remove it if you are sure that the database beside it is the right one.",
            code="store-record",
        ) from error


def write_record(data_dir: Path, record: Record) -> None:
    """Remember `record`, durably; the same one again costs nothing."""
    if read_record(data_dir) != record:
        files.replace(data_dir / RECORD, msgspec.json.encode(record))


def header_state(path: Path) -> tuple[int, int] | None:
    """(application id, user version) from the main file alone, None when it is missing, empty or no database."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return None
    if len(header) < 100 or not header.startswith(_MAGIC):
        return None
    return int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")


def missing_before_open(data_dir: Path, record: Record | None) -> str:
    """A sentence on what is provably gone before SQLite touches anything, or "" when nothing is.

    Must run first: SQLite would create a missing database and ignore a missing write-ahead log.
    """
    path = data_dir / DATABASE
    wal = path.with_name(path.name + "-wal")
    size = path.stat().st_size if path.exists() else 0
    if size == 0:
        if record is not None:
            return f"{path} is {'empty' if path.exists() else 'missing'}, though this root has a log"
        if wal.exists() and wal.stat().st_size > 0:
            return f"{path} is missing, though its write-ahead log is there"
        return ""
    state = header_state(path)
    if state is None:
        if record is None and path.with_name(path.name + "-journal").exists():
            return ""  # the very first write was cut; SQLite rolls it back to an empty file
        return f"{path} is not a database any more"
    if state[0] != APPLICATION_ID and _is_foreign(path, state[0]):
        return f"{path} is a database of something else"
    if state[1] == LIVE and not _has_wal(wal):
        return f"{wal} is missing or empty, and with it the newest events of {path.name}"
    return ""


def missing_after_open(connection: apsw.Connection, record: Record | None, path: Path) -> str:
    """A sentence when the database SQLite shows is not the one the record speaks of, or is older, else "".

    Asked before migrations run: a log whose making was cut has no tables yet, and that is fine unless there is a record.
    """
    if record is None:
        return ""
    if connection.pragma("application_id") != APPLICATION_ID:
        return f"{path} is empty, though this root has a log"
    identity, gid = database_id(connection), high_water(connection)
    if identity != record.database:
        return f"{path} is another root's database: it was replaced"
    if gid < record.gid:
        return f"{path} is older than this root's log: it ends at row {gid}, not {record.gid}"
    return ""


def database_id(connection: apsw.Connection) -> str:
    """The random id a database is given when it is made."""
    return str(connection.execute("SELECT value FROM meta WHERE key = 'database'").get)


def high_water(connection: apsw.Connection) -> int:
    """The highest row number ever used, deleted conversations included."""
    return int(
        connection.execute(
            "SELECT max(ifnull((SELECT max(gid) FROM events), 0), ifnull((SELECT max(last_gid) FROM tombstones), 0))"
        ).get
    )


class LiveFiles:
    """Notices that the open database's files were replaced or removed under the kernel.

    SQLite goes on writing into a file that has lost its name, and every event acknowledged then would be gone. Names
    change only with their directory's time, so one look at that is enough as long as nothing happens (3 us, not 20).
    The files themselves are never opened here: closing a descriptor of theirs would drop SQLite's locks.
    """

    def __init__(self, path: Path) -> None:
        self._paths = [path, path.with_name(path.name + "-wal")]
        self._directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._changed_ns = -1
        self._known = [_identity(p) for p in self._paths]

    def still_ours(self) -> bool:
        """Whether each file still has the identity it was first seen with."""
        changed_ns = os.fstat(self._directory).st_mtime_ns
        if changed_ns == self._changed_ns:
            return True
        for index, path in enumerate(self._paths):
            self._known[index] = self._known[index] or _identity(path)  # the side file may have been made only now
        if self._known != [_identity(path) for path in self._paths]:
            return False
        self._changed_ns = changed_ns
        return True

    def close(self) -> None:
        """Stop looking."""
        os.close(self._directory)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _is_foreign(path: Path, application_id: int) -> bool:
    """Whether a file with another application's mark holds tables; looked at without changing a byte of it.

    Ours has no mark in the main file only while its first transaction is in the write-ahead log alone.
    """
    if application_id != 0:
        return True
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            ours = connection.pragma("application_id") == APPLICATION_ID
            tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'migrations'").get
        finally:
            connection.close()
    except apsw.Error:
        return False  # what is wrong with it will be said by opening it
    return not ours and bool(tables)


def _has_wal(wal: Path) -> bool:
    try:
        with wal.open("rb") as file:
            header = file.read(_WAL_HEADER)
    except FileNotFoundError:
        return False
    return len(header) == _WAL_HEADER and header.startswith(_WAL_MAGICS)
