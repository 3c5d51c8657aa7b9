"""The database's shape, as an append-only list of named migrations.

A migration that has been released is never edited: a new one is added. The triggers are the floor under the code: an
event is never changed, and it goes only with its whole conversation, for which a tombstone must stand first.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from thetis_kernel.clock import Clock
from thetis_kernel.errors import StoreError

APPLICATION_ID = 0x54485453
"""In the file's header: this is a Thetis log ("THTS")."""

_LOG = """
CREATE TABLE sessions(
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  short_id TEXT NOT NULL UNIQUE,
  root TEXT NOT NULL,
  origin TEXT NOT NULL,
  relation TEXT NOT NULL,
  parent TEXT NOT NULL,
  parent_seq INTEGER NOT NULL,
  branch TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  base BLOB NOT NULL,
  last_seq INTEGER NOT NULL,
  head BLOB NOT NULL,
  updated_ms INTEGER NOT NULL,
  title TEXT NOT NULL,
  preview TEXT NOT NULL,
  mode TEXT NOT NULL,
  model TEXT NOT NULL,
  archived INTEGER NOT NULL,
  open_turn TEXT NOT NULL,
  interrupted INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  damaged INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_parent ON sessions(parent) WHERE parent <> '';

CREATE TABLE events(
  gid INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  event_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  v INTEGER NOT NULL,
  ts_ms INTEGER NOT NULL,
  form INTEGER NOT NULL,
  body BLOB NOT NULL,
  hash BLOB NOT NULL,
  UNIQUE(session, seq)
) STRICT;
CREATE INDEX events_that_project ON events(session, seq) WHERE kind IN ('rewind', 'compaction');
CREATE TABLE seals(session INTEGER NOT NULL, seq INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY(session, seq))
  STRICT, WITHOUT ROWID;

CREATE TABLE leases(session INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, taken_ms INTEGER NOT NULL) STRICT;
CREATE TABLE tombstones(
  session INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  head BLOB NOT NULL,
  last_seq INTEGER NOT NULL,
  last_gid INTEGER NOT NULL,
  deleted_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE blob_refs(digest TEXT NOT NULL, session INTEGER NOT NULL, PRIMARY KEY(digest, session))
  STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_by_session ON blob_refs(session);
CREATE TABLE blob_trash(digest TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE kv(scope TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY(scope, key)) STRICT;
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;
INSERT INTO meta VALUES('database', lower(hex(randomblob(16))));
INSERT INTO meta VALUES('indexed_gid', 0);

CREATE TRIGGER events_move_the_head AFTER INSERT ON events
  BEGIN
    UPDATE sessions SET last_seq = NEW.seq, head = NEW.hash, updated_ms = NEW.ts_ms WHERE num = NEW.session;
  END;
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_go_with_their_conversation BEFORE DELETE ON events
  WHEN NOT EXISTS (SELECT 1 FROM tombstones WHERE session = OLD.session)
  BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_stay_deleted BEFORE INSERT ON events
  WHEN EXISTS (SELECT 1 FROM tombstones WHERE session = NEW.session)
  BEGIN SELECT RAISE(ABORT, 'the conversation was deleted'); END;
CREATE TRIGGER sessions_keep_their_identity BEFORE UPDATE OF
  num, id, short_id, root, origin, relation, parent, parent_seq, branch, created_ms, first_seq, base ON sessions
  BEGIN SELECT RAISE(ABORT, 'a conversation keeps its identity'); END;
CREATE TRIGGER sessions_from_discord_keep_their_mode BEFORE UPDATE OF mode ON sessions
  WHEN OLD.origin = 'discord' AND NEW.mode <> OLD.mode
  BEGIN SELECT RAISE(ABORT, 'the mode of a conversation from Discord is fixed'); END;
CREATE TRIGGER sessions_leave_a_tombstone BEFORE DELETE ON sessions
  WHEN NOT EXISTS (SELECT 1 FROM tombstones WHERE session = OLD.num)
  BEGIN SELECT RAISE(ABORT, 'a conversation leaves a tombstone'); END;
CREATE TRIGGER tombstones_are_not_changed BEFORE UPDATE ON tombstones
  BEGIN SELECT RAISE(ABORT, 'a tombstone stays'); END;
CREATE TRIGGER tombstones_stay BEFORE DELETE ON tombstones
  BEGIN SELECT RAISE(ABORT, 'a tombstone stays'); END;
"""

_SEARCH = """
CREATE VIRTUAL TABLE search USING fts5(
  text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
"""

_CHILDREN = """
CREATE TRIGGER sessions_of_children_have_no_children BEFORE INSERT ON sessions
  WHEN NEW.relation = 'child' AND EXISTS (SELECT 1 FROM sessions WHERE id = NEW.parent AND relation = 'child')
  BEGIN SELECT RAISE(ABORT, 'a sub-agent has no sub-agents'); END;
"""


def create_log(connection: apsw.Connection) -> None:
    """Conversations, events, seals, leases, tombstones, blob references, cache, and the triggers that guard them."""
    connection.pragma("application_id", APPLICATION_ID)
    connection.execute(_LOG)


def create_search(connection: apsw.Connection) -> None:
    """The full-text index; it can be rebuilt from the log at any time."""
    connection.execute(_SEARCH)


def keep_children_flat(connection: apsw.Connection) -> None:
    """A sub-agent's conversation begins no further one."""
    connection.execute(_CHILDREN)


MIGRATIONS: list[Callable[[apsw.Connection], None]] = [create_log, create_search, keep_children_flat]
"""In order, by name. Append only."""


def migrate(connection: apsw.Connection, clock: Clock) -> None:
    """Bring the database to the newest shape, each migration in a transaction of its own.

    Raises StoreError (`store-newer`) when a newer Thetis has been at the file, because its rows may mean more.
    """
    connection.execute("CREATE TABLE IF NOT EXISTS migrations(name TEXT PRIMARY KEY, applied_ms INTEGER) STRICT")
    applied = {str(name) for (name,) in connection.execute("SELECT name FROM migrations")}
    unknown = applied - {migration.__name__ for migration in MIGRATIONS}
    if unknown:
        raise StoreError(
            f"a newer version of Thetis has changed this database ({', '.join(sorted(unknown))})",
            hint="Use that version, or restore a backup made before it.",
            code="store-newer",
        )
    for migration in MIGRATIONS:
        if migration.__name__ not in applied:
            with connection:
                migration(connection)
                connection.execute("INSERT INTO migrations VALUES(?, ?)", (migration.__name__, clock.now_ms()))
