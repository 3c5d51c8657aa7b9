"""The head of a conversation: where its chain stands, who may append, and the folded columns lists show.

A head is what the writer must know to append one more event. Its folded part (title, preview, mode, model, archived,
turns) is the same fold as `folds.SessionState`, kept so that a list of a thousand conversations reads no events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Rewind,
    SessionStarted,
    SettingChanged,
    TurnFinished,
    TurnStarted,
    Unknown,
    User,
)
from thetis_kernel.store import summary
from thetis_kernel.store.rows import SessionRow

_COLUMNS = (
    "num, id, origin, first_seq, base, last_seq, head, updated_ms, title, preview, mode, model, archived,"
    " open_turn, interrupted, turns, damaged"
)
_NAMES = (
    "id", "short_id", "root", "origin", "relation", "parent", "parent_seq", "branch", "created_ms", "first_seq",
    "last_seq", "head", "updated_ms", "title", "preview", "mode", "model", "archived",
    "open_turn", "interrupted", "turns", "damaged",
)  # fmt: skip
_ROW_COLUMNS = ", ".join(_NAMES)
_TEXTS = frozenset(_NAMES) - {
    "parent_seq", "created_ms", "first_seq", "last_seq", "head", "updated_ms", "archived",
    "interrupted", "turns", "damaged",
}  # fmt: skip
_AS_BYTES = ", ".join(f"CAST({name} AS BLOB)" if name in _TEXTS else name for name in _NAMES)


class Head(msgspec.Struct):
    """One conversation as the writer knows it; `epoch` is its newest lease, 0 when none was taken.

    `folded`: the folded columns were changed and are not in the row yet.
    """

    num: int
    id: str
    origin: str
    first_seq: int
    base: bytes
    last_seq: int
    head: bytes
    updated_ms: int
    title: str
    preview: str
    mode: str
    model: str
    archived: int
    open_turn: str
    interrupted: int
    turns: int
    damaged: int
    epoch: int = 0
    folded: bool = False

    def fold(self, body: Body | Unknown) -> None:
        """Take `body` into the folded columns."""
        was, self.folded = self.folded, True
        match body:
            case User():
                attachment = body.attachments[0].name if body.attachments else ""
                self.title = self.title or summary.title(body.text, attachment)
                self.preview = summary.preview(body.text) or self.preview
                self.interrupted = 1
            case Assistant():
                self.preview = summary.preview(said(body)) or self.preview
            case SettingChanged():
                self._set(body.name, body.value)
            case TurnStarted():
                self.open_turn, self.interrupted = body.turn, 0
                self.turns += body.attempt == 0
            case TurnFinished():
                self.open_turn, self.interrupted = "", int(body.stopped_by == "restarted")
            case Rewind() if body.to_seq < self.last_seq - 1:
                self.interrupted = 0
            case _:
                self.folded = was

    def _set(self, name: str, value: str) -> None:
        if name == "title":
            self.title = summary.one_line(value, summary.NAME_LENGTH)
        elif name == "mode":
            self.mode = value
        elif name == "model":
            self.model = value
        elif name == "archived":
            self.archived = int(value == "true")


def said(body: Assistant) -> str:
    """The first text of a reply, "" when it only called tools."""
    for block in body.blocks:
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str) and text.strip():
            return text
    return ""


def load(connection: apsw.Connection, session: str) -> Head | None:
    """The committed head of `session` (its full id), None when there is no such conversation."""
    row = connection.execute(
        f"SELECT {_COLUMNS}, ifnull((SELECT epoch FROM leases WHERE session = num), 0) FROM sessions WHERE id = ?",
        (session,),
    ).fetchone()
    return Head(*row) if row else None


def save(connection: apsw.Connection, head: Head) -> None:
    """Write the folded columns into the row, in the transaction of the events they come from.

    Where the chain stands needs no writing: the row follows each event inserted, by a trigger.
    """
    connection.execute(
        "UPDATE sessions SET title = ?, preview = ?, mode = ?, model = ?, archived = ?, open_turn = ?, interrupted = ?,"
        " turns = ? WHERE num = ?",
        (
            head.title, head.preview, head.mode, head.model, head.archived, head.open_turn, head.interrupted,
            head.turns, head.num,
        ),
    )  # fmt: skip


def insert(connection: apsw.Connection, body: SessionStarted, head: Head, short_id: str, now_ms: int) -> None:
    """Make the row of a new conversation that `body` starts."""
    connection.execute(
        "INSERT INTO sessions VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            head.num, head.id, short_id, body.root, body.origin, body.relation, body.parent, body.parent_seq,
            body.branch, now_ms, head.first_seq, head.base, head.last_seq, head.head, head.updated_ms, head.title,
            head.preview, head.mode, head.model, head.archived, head.open_turn, head.interrupted, head.turns, head.damaged,
        ),
    )  # fmt: skip


def rows(connection: apsw.Connection, where: str = "1", bindings: tuple[object, ...] = ()) -> list[SessionRow]:
    """The conversations that satisfy a condition written by this package, the last used first."""
    query = "SELECT {} FROM sessions WHERE {} ORDER BY updated_ms DESC, num DESC"
    try:
        return [_row(values) for values in connection.execute(query.format(_ROW_COLUMNS, where), bindings)]
    except UnicodeDecodeError:  # a flipped bit in one title must not hide every conversation
        return [_row(_decoded(values)) for values in connection.execute(query.format(_AS_BYTES, where), bindings)]


def _row(values: Sequence[Any]) -> SessionRow:
    row = dict(zip(_NAMES, values, strict=True))
    row |= {"head": row["head"].hex(), "title": row["title"] or summary.UNTITLED}
    row |= {name: bool(row[name]) for name in ("archived", "interrupted")}
    return SessionRow(**row)


def _decoded(values: Sequence[Any]) -> list[Any]:
    return [v.decode(errors="replace") if name in _TEXTS else v for name, v in zip(_NAMES, values, strict=True)]
