"""What a person asks the time machine: where one can go back to, going back, taking that back, going on elsewhere.

Owns the words; `protocol.snapshots` is what the git host is asked about files. Never offered over a bridge.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.wire import Ask

What = Literal["both", "talk", "files"]
"""What goes back: the conversation and its files, the conversation alone, the files alone."""


class Moment(msgspec.Struct, frozen=True):
    """Words of a person that began a turn: one can go back to right before them. `seq` is their number, `text` all of them."""

    seq: int
    ts_ms: int
    text: str


class ListMoments(Ask[list[Moment]], frozen=True, tag="client.moments"):
    """Where `session` can go back to, oldest first: at most the last 500."""

    session: str


class Rewound(msgspec.Struct, frozen=True):
    """`text`: the words gone back to, to be said again or changed. `written`, `removed` count paths of the worktree; `kept` are
    sentences about those left as they are. `files` false: nothing had changed there since, or they were not to go back."""

    text: str
    files: bool = False
    written: int = 0
    removed: int = 0
    kept: list[str] = []


class RewindTo(Ask[Rewound], frozen=True, tag="client.rewind"):
    """Go back to right before the words at `seq`. Nothing is lost: `UndoRewind` takes it back, the log keeps everything."""

    session: str
    seq: int
    what: What = "both"


class UndoRewind(Ask[Rewound], frozen=True, tag="client.undo-rewind"):
    """Take the last rewind back, files too if they went back. Refused once something was said since."""

    session: str


class Forked(msgspec.Struct, frozen=True):
    """The new conversation's id, and the words it was forked before ("" when it has all of its parent)."""

    session: str
    text: str


class Fork(Ask[Forked], frozen=True, tag="client.fork"):
    """A conversation that has this one's beginning and files: up to right before the words at `seq`, 0 = all of it."""

    session: str
    seq: int = 0


TIMEMACHINE_ASKS = (ListMoments, RewindTo, UndoRewind, Fork)
