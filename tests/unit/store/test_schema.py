"""The floor under the code: what even a wrong statement cannot do to the log."""

from __future__ import annotations

import apsw
import pytest
from thetis_kernel.clock import FakeClock
from thetis_kernel.errors import StoreError
from thetis_kernel.store import connection, schema
from thetis_kernel.store.store import Store

from tests.support.logs import new, say

FORBIDDEN = [
    "UPDATE events SET body = x'00'",
    "UPDATE events SET seq = seq + 1",
    "DELETE FROM events",
    "DELETE FROM events WHERE seq = 2",
    "INSERT OR REPLACE INTO events SELECT gid, session, seq, event_id, kind, v, ts_ms, form, x'00', hash FROM events",
    "REPLACE INTO events SELECT gid + 1000, session, seq, event_id, kind, v, ts_ms, form, body, hash FROM events",
    "UPDATE OR REPLACE events SET event_id = 'x'",
    "INSERT INTO events SELECT gid, session, seq, event_id, kind, v, ts_ms, form, body, hash FROM events",
    "INSERT INTO events VALUES(99, 'text', 1, 'e', 'k', 1, 1, 0, x'', x'')",
    "UPDATE sessions SET id = 'other'",
    "UPDATE sessions SET origin = 'other'",
    "UPDATE sessions SET base = x'00'",
    "DELETE FROM sessions",
    "UPDATE tombstones SET head = x'00'",
    "DELETE FROM tombstones",
    "INSERT INTO events SELECT 999, session, 9, 'e9', 'user', 1, 1, 0, x'', x'' FROM tombstones",
    "UPDATE sessions SET mode = 'agent' WHERE origin = 'discord'",
    "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema",
    "DROP TABLE search_data",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_database_refuses(store, statement):
    kept, gone, discord = new(store), new(store), new(store, origin="discord", mode="read")
    say(store, kept, "one", "two")
    store.delete(gone)
    before = store.read(kept)
    db = store._opened.connection

    def work() -> None:
        for part in statement.split("; "):
            db.execute(part).fetchall()

    with pytest.raises(StoreError):
        store._writer.call(work).result(10)
    assert store.read(kept) == before and store.last_seq(discord) == 1
    assert store.tombstone(gone) is not None


def test_without_recursive_triggers_replace_would_slip_through(tmp_path):
    """Why the setting is read back: the same statement, the same triggers, one pragma less."""
    store = Store.open(tmp_path / "data", free=lambda: 0)
    session = new(store)
    say(store, session, "one")
    db = store._opened.connection

    def work() -> None:
        db.pragma("recursive_triggers", 0)
        db.execute(FORBIDDEN[4])

    store._writer.call(work).result(10)
    store.close()


def test_migrations_run_once_and_in_order(tmp_path):
    db = connection.open_writer(tmp_path / "a.db")
    schema.migrate(db, FakeClock())
    schema.migrate(db, FakeClock())
    names = [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY rowid")]
    assert names == [migration.__name__ for migration in schema.MIGRATIONS]


def test_a_released_migration_keeps_its_name():
    assert [migration.__name__ for migration in schema.MIGRATIONS][:2] == ["create_log", "create_search"]


def test_a_failed_migration_leaves_nothing(tmp_path, monkeypatch):
    def half(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE half(a)")
        db.execute("THIS IS NOT SQL")

    db = connection.open_writer(tmp_path / "a.db")
    schema.migrate(db, FakeClock())
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, half])
    with pytest.raises(apsw.SQLError):
        schema.migrate(db, FakeClock())
    assert not db.table_exists("main", "half")


def test_a_newer_database_is_refused(tmp_path, monkeypatch):
    def from_the_future(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE future(a)")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, from_the_future])
        Store.open(tmp_path / "data", free=lambda: 0).close()
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "data")
    assert caught.value.code == "store-newer" and "from_the_future" in caught.value.message
