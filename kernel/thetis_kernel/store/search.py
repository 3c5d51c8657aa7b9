"""Full-text search over what was said and done.

The index is brought up to date in the transaction of every 256th event (`BEHIND`): indexing each event by itself made a
commit twice as dear. What it does not hold yet is found by indexing that tail in memory for the query, so a search always
sees every committed event. The index is derived: broken or outdated, it is dropped and built again from the log.
"""

from __future__ import annotations

import re
from typing import Any

import apsw
import msgspec

from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import (
    Answer,
    Assistant,
    Compaction,
    Nudge,
    Question,
    StateChanged,
    SystemNote,
    ToolInvocation,
    ToolResult,
    User,
    decode_body,
)
from thetis_kernel.store import ledger, schema
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.rows import Hit

BEHIND = 256
"""Events the index may lag by. Together they cost 30 us each (64 together 53, alone 179, and 9 pages); a search reads them
from the log in about 5 ms."""
BATCH = 1024
"""Events indexed in one transaction when the index has more to catch up."""
TEXT_LIMIT = 16_000
"""Characters of one event that can be found; a tool's output of megabytes is not worth an index of its words."""
MAX_WORDS = 32
NOT_THE_INDEX = (apsw.FullError, apsw.IOError, apsw.NoMemError, apsw.BusyError, apsw.InterruptError)
"""Errors that say nothing about the index; any other one out of it means that it is broken."""
_SNIPPET = 80
_WORD = re.compile(r"\w+")
_ROWS = (
    "SELECT e.gid, s.id, e.seq, e.kind, e.form, e.body FROM events e JOIN sessions s ON s.num = e.session"
)


def words_of(query: str) -> list[str]:
    """The words of a person's query; punctuation separates and nothing in it is an operator."""
    return _WORD.findall(query.replace("_", " "))[:MAX_WORDS]


def text_of(kind: str, raw: bytes) -> str:
    """What of an event can be found, at most `TEXT_LIMIT` characters; "" for kinds that say nothing."""
    try:
        body = decode_body(kind, raw)
    except msgspec.MsgspecError:
        return ""  # its own reader will complain; an index is no place to stop the log
    match body:
        case User() | Nudge() | SystemNote():
            text = body.text
        case Assistant():
            text = "\n".join(str(block.get("text", "")) for block in body.blocks if block.get("type") == "text")
        case ToolInvocation():
            text = f"{body.name} {msgspec.json.encode(body.args).decode()}"
        case ToolResult():
            text = body.content
        case Compaction():
            text = body.summary
        case Question():
            text = f"{body.intro} {msgspec.json.encode(body.questions).decode()}"
        case Answer():
            text = msgspec.json.encode(body.answers).decode()
        case StateChanged() if not body.scope.startswith("kv:"):
            text = f"{body.key} {body.value}"
        case _:
            text = ""
    return text[:TEXT_LIMIT].replace("\0", " ")


class SearchIndex:
    """The index as the writer keeps it. All methods run in the writer's transaction."""

    def __init__(self, connection: apsw.Connection, blobs: Blobs) -> None:
        self._connection = connection
        self._blobs = blobs
        self.indexed_gid = indexed_gid(connection)

    def behind(self, last_gid: int) -> bool:
        """Whether enough events wait to be indexed, when the log ends at row `last_gid`."""
        return last_gid - self.indexed_gid >= BEHIND

    def catch_up(self, last_gid: int) -> int:
        """Index the next events up to row `last_gid`; the row reached, to be `indexed_gid` once committed."""
        found: list[Any] = self._connection.execute(
            f"{_ROWS} WHERE e.gid > ? ORDER BY e.gid LIMIT ?", (self.indexed_gid, BATCH)
        ).fetchall()
        for gid, _, _, kind, form, body in found:
            text = text_of(kind, _whole(form, body, self._blobs))
            if text:
                self._connection.execute("INSERT INTO search(rowid, text) VALUES(?, ?)", (gid, text))
        # The index writes when it must or at COMMIT; a broken one has to say so here, where it can be set right.
        self._connection.execute("INSERT INTO search(search) VALUES('flush')")
        reached = int(found[-1][0]) if len(found) == BATCH else last_gid
        self._connection.execute("UPDATE meta SET value = ? WHERE key = 'indexed_gid'", (reached,))
        return reached

    def forget(self, session: int) -> None:
        """Take a conversation (by row number) out of the index, before its events go."""
        try:
            self._connection.execute(
                "DELETE FROM search WHERE rowid IN (SELECT gid FROM events WHERE session = ? AND gid <= ?)",
                (session, self.indexed_gid),
            )
        except NOT_THE_INDEX:
            raise
        except apsw.Error:
            self.rebuild()

    def purge_step(self, first: bool) -> bool:
        """Rewrite a part of the index without what was deleted from it; whether there is more to do."""
        before = self._connection.total_changes()
        self._connection.execute(
            "INSERT INTO search(search, rank) VALUES('merge', ?)", (-BATCH if first else BATCH,)
        )
        return self._connection.total_changes() - before >= 2

    def rebuild(self) -> None:
        """Begin an empty index; it fills up again with the next events, and searches read the rest from the log."""
        self._connection.execute("DROP TABLE IF EXISTS search")
        schema.create_search(self._connection)
        self._connection.execute("UPDATE meta SET value = 0 WHERE key = 'indexed_gid'")
        self.indexed_gid = 0


def indexed_gid(connection: apsw.Connection) -> int:
    """The last row the index holds."""
    return int(connection.execute("SELECT value FROM meta WHERE key = 'indexed_gid'").get)


def find(
    connection: apsw.Connection, blobs: Blobs, query: str, limit: int, session: str = ""
) -> tuple[list[Hit], bool]:
    """Events that hold all words of `query` (the last one as a beginning), the newest first; whether the index is sound.

    Without a sound index the whole log is read for the query.
    """
    words = words_of(query)
    if not words or limit < 1:
        return [], True
    match = " ".join(f'"{word}"' for word in words) + "*"
    known, sound = indexed_gid(connection), True
    try:
        rows = _indexed(connection, match, known, limit, session)
    except NOT_THE_INDEX:
        raise
    except apsw.Error:
        rows, known, sound = [], 0, False
    rows = (_tail(connection, blobs, match, known, session) + rows)[:limit]
    hits = [
        Hit(found, seq, kind, snippet(text_of(kind, _whole(form, body, blobs)), words))
        for _, found, seq, kind, form, body in rows
    ]
    return hits, sound


def snippet(text: str, words: list[str]) -> str:
    """One line of `text` around the first of `words`."""
    line = " ".join(text.split())
    lowered = line.casefold()
    places = [place for place in (lowered.find(word.casefold()) for word in words) if place >= 0]
    place = min(places, default=0)
    start, end = max(0, place - _SNIPPET), place + _SNIPPET
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _indexed(connection: apsw.Connection, match: str, known: int, limit: int, session: str) -> list[Any]:
    """The matching events up to row `known`, from the index."""
    return connection.execute(
        f"SELECT e.gid, s.id, e.seq, e.kind, e.form, e.body FROM search"
        f" JOIN events e ON e.gid = search.rowid JOIN sessions s ON s.num = e.session"
        f" WHERE search MATCH ? AND search.rowid <= ?{' AND s.id = ?' if session else ''}"
        f" ORDER BY search.rowid DESC LIMIT ?",
        (match, known, *([session] if session else []), limit),
    ).fetchall()


def _tail(connection: apsw.Connection, blobs: Blobs, match: str, known: int, session: str) -> list[Any]:
    """The matching events the index does not hold yet, by the same tokenizer and the same query in memory."""
    rows = {
        row[0]: row
        for row in connection.execute(f"{_ROWS} WHERE e.gid > ?", (known,))
        if not session or row[1] == session
    }
    if not rows:
        return []
    memory = apsw.Connection(":memory:")
    try:
        schema.create_search(memory)
        with memory:  # one transaction: each by itself would cost six times as much
            for gid, _, _, kind, form, body in rows.values():
                text = text_of(kind, _whole(form, body, blobs))
                memory.execute("INSERT INTO search(rowid, text) VALUES(?, ?)", (gid, text))
        found = memory.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC", (match,))
        return [rows[gid] for (gid,) in found]
    finally:
        memory.close()


def _whole(form: int, body: bytes, blobs: Blobs) -> bytes:
    """A stored body; one whose blob is missing or damaged cannot be found by its words."""
    try:
        return ledger.whole(form, body, blobs)
    except (StoreError, msgspec.MsgspecError):
        return b"{}"
