"""What the store hands out besides events: plain values, no behaviour."""

from __future__ import annotations

import msgspec


class SessionRow(msgspec.Struct, frozen=True):
    """One conversation as lists show it; everything that changes is a fold over its events, cached in its row.

    `first_seq` is 1 except for a fork, which counts on from its parent's `parent_seq` and begins with the parent's title.
    `open_turn`: the id of the turn that has no end, "" when none; whether anyone works on it is the gateway's to know.
    `interrupted`: the last turn was cut by a restart, or none was begun for the last words. `turns`: how many were begun.
    `damaged`: the first sequence number that does not verify, 0 when sound. Times are milliseconds, for display.
    """

    id: str
    short_id: str
    root: str
    origin: str
    relation: str
    parent: str
    parent_seq: int
    branch: str
    created_ms: int
    first_seq: int
    last_seq: int
    head: str
    updated_ms: int
    title: str
    preview: str
    mode: str
    model: str
    archived: bool
    open_turn: str
    interrupted: bool
    turns: int
    damaged: int

    @property
    def state(self) -> str:
        """idle, running (a turn is open) or interrupted, as `folds.SessionState.state` says it."""
        return "running" if self.open_turn else "interrupted" if self.interrupted else "idle"


class Hit(msgspec.Struct, frozen=True):
    """One event a search found; `snippet` is one line of text around the first match."""

    session: str
    seq: int
    kind: str
    snippet: str


class Tombstone(msgspec.Struct, frozen=True):
    """What is left of a deleted conversation: the head of its chain (hex) proves which one it was."""

    session: str
    last_seq: int
    head: str
    deleted_ms: int


class Verdict(msgspec.Struct, frozen=True):
    """The result of checking one conversation's chain: `good_seq` is the last event that verifies."""

    session: str
    good_seq: int
    last_seq: int
    detail: str = ""

    @property
    def sound(self) -> bool:
        """Whether every event is there and verifies."""
        return self.good_seq == self.last_seq and not self.detail
