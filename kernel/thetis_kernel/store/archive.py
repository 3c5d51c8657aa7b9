"""Copies of a whole log, and the check of a conversation from its first event to its last.

A backup is a data directory of its own: opened like any other, and marked complete, because it needs no side files.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from thetis_kernel.errors import SessionDamaged, StoreError, UsageError
from thetis_kernel.store import admission, connection, files
from thetis_kernel.store.admission import CLEAN, DATABASE, Record
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.reader import Reader
from thetis_kernel.store.rows import Verdict


def backup(path: Path, vfs: str, blobs: Blobs, target: Path) -> None:
    """Copy the database at `path`, as of one moment, and its blobs to the new or empty directory `target`, durably.

    Runs beside appends and holds none of them up. Raises UsageError when `target` holds anything.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not an empty directory", hint="Name a new directory for the backup.")
    copy = target / DATABASE
    try:
        files.private_dir(target)
        files.write_new(copy, b"")
        source = connection.open_reader(path, vfs)
        try:
            source.execute("VACUUM INTO ?", (str(copy),))
        finally:
            source.close()
        record, digests = _complete(copy)
        for digest in digests:
            _copy_blob(blobs, Blobs(target / "blobs"), digest)
        admission.write_record(target, record)
    except (apsw.Error, OSError) as error:
        raise connection.failure(error, "be backed up") from error


def verify(reader: Reader, session: str) -> Verdict:
    """Check every event of `session`'s own stretch, bodies in blobs included."""
    with reader.snapshot() as db:
        line = reader.line(db, session)
    good = line.first_seq - 1
    try:
        while good < line.last_seq:
            with reader.snapshot() as db:
                rows = reader.page(db, line, good, sealed=False)
            reader.events(line, rows)
            good = rows[-1][0]
    except SessionDamaged as error:
        return Verdict(session, int(error.data["seq"]), line.last_seq, error.message)
    return Verdict(session, good, line.last_seq)


def _complete(copy: Path) -> tuple[Record, list[str]]:
    """Mark the copy as whole in itself; its record, and the blobs it refers to."""
    db = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.pragma("synchronous", 2)
        db.pragma("user_version", CLEAN)
        record = Record(admission.database_id(db), admission.high_water(db))
        return record, [digest for (digest,) in db.execute("SELECT DISTINCT digest FROM blob_refs")]
    finally:
        db.close()


def _copy_blob(source: Blobs, target: Blobs, digest: str) -> None:
    """One blob, checked on the way. One already damaged is copied as it is: a backup keeps what there is."""
    try:
        target.put(source.get(digest))
    except StoreError as error:
        if error.code == "blob-missing":
            return
        if error.code != "blob-damaged":
            raise
        files.private_dir(target.path(digest).parent)
        files.copy_synced(source.path(digest), target.path(digest))
