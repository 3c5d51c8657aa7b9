"""Deletes whole conversations: their events, index entries, cache, leases and blobs, all but a tombstone.

Runs in the writer's transactions. Blobs go in two steps: the transaction lists those nobody refers to any more, and the
files go after it is durable, so a crash leaves a list to finish and never a row that points at nothing.
"""

from __future__ import annotations

import apsw

from thetis_kernel.errors import UsageError
from thetis_kernel.protocol import ids
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.heads import Head
from thetis_kernel.store.ledger import Ledger
from thetis_kernel.store.rows import Tombstone
from thetis_kernel.store.search import SearchIndex

ORPHAN_AGE_S = 24 * 3600.0
"""A blob nothing refers to is swept when older: a younger one may belong to an event that is still on its way."""


def delete(db: apsw.Connection, ledger: Ledger, index: SearchIndex, session: str, now_ms: int) -> Tombstone:
    """Delete `session` and its sub-agents' conversations.

    Raises UsageError when a fork still reads its beginning from one of them.
    """
    doomed = _family(db, ledger, session)
    for head in doomed:
        forks = _strings(db, "SELECT short_id FROM sessions WHERE parent = ? AND relation = 'fork'", head.id)
        if forks:
            names = ", ".join(forks)
            raise UsageError(
                f"the conversation {ids.short(head.id)} is the beginning of {names}",
                hint="Delete that first.",
                code="has-forks",
            )
    for head in doomed:
        _delete_one(db, index, head, now_ms)
        ledger.forget(head.id)
    first = doomed[0]
    return Tombstone(first.id, first.last_seq, first.head.hex(), now_ms)


def empty_trash(db: apsw.Connection, blobs: Blobs) -> None:
    """Remove the files of blobs that a committed deletion listed, unless something refers to them again."""
    for digest in _strings(db, "SELECT digest FROM blob_trash"):
        if not _referred(db, digest):
            blobs.remove(digest)
        db.execute("DELETE FROM blob_trash WHERE digest = ?", (digest,))


def sweep(db: apsw.Connection, blobs: Blobs) -> int:
    """Remove old blobs nothing refers to, left by a crash between a blob and its row; how many files went."""
    orphans = [d for d in blobs if not _referred(db, d) and blobs.age_s(d) > ORPHAN_AGE_S]
    for digest in orphans:
        blobs.remove(digest)
    return len(orphans) + blobs.remove_unfinished(ORPHAN_AGE_S)


def _family(db: apsw.Connection, ledger: Ledger, session: str) -> list[Head]:
    """The conversation and the sub-agents below it."""
    family: list[Head] = []
    waiting = [session]
    while waiting:
        head = ledger.head(waiting.pop(0))
        family.append(head)
        waiting += _strings(db, "SELECT id FROM sessions WHERE parent = ? AND relation = 'child'", head.id)
    return family


def _delete_one(db: apsw.Connection, index: SearchIndex, head: Head, now_ms: int) -> None:
    index.forget(head.num)
    last_gid = db.execute("SELECT ifnull(max(gid), 0) FROM events WHERE session = ?", (head.num,)).get
    db.execute(
        "INSERT INTO tombstones VALUES(?,?,?,?,?,?)",
        (head.num, head.id, head.head, head.last_seq, last_gid, now_ms),
    )
    db.execute(
        "INSERT OR IGNORE INTO blob_trash SELECT digest FROM blob_refs WHERE session = ?1"
        " AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.digest = blob_refs.digest AND o.session <> ?1)",
        (head.num,),
    )
    for table in ("events", "seals", "leases", "blob_refs"):
        db.execute(f"DELETE FROM {table} WHERE session = ?", (head.num,))
    db.execute("DELETE FROM kv WHERE scope = ?", (head.id,))
    db.execute("DELETE FROM sessions WHERE num = ?", (head.num,))


def _strings(db: apsw.Connection, query: str, *bindings: str) -> list[str]:
    return [str(value) for (value,) in db.execute(query, bindings).fetchall()]


def _referred(db: apsw.Connection, digest: str) -> bool:
    return db.execute("SELECT 1 FROM blob_refs WHERE digest = ?", (digest,)).fetchone() is not None
