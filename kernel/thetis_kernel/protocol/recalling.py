"""What a worker asks of the log and of the root beyond its conversation's projection: originals, and the project's notes."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.events import Event
from thetis_kernel.protocol.wire import Ask


class Originals(msgspec.Struct, frozen=True):
    """Events in order; `next` is where to read on, 0 when that was all."""

    events: list[Event]
    next: int = 0


class ReadOriginals(Ask[Originals], frozen=True, tag="log.originals"):
    """The events `first`..`last` of the live branch as they were logged, compacted ones too; about `max_bytes` at most.

    `child`: the sub-agent whose log is meant, "" for the conversation itself.
    """

    first: int
    last: int
    max_bytes: int
    child: str = ""


class ReadProjectNotes(Ask[dict[str, str]], frozen=True, tag="notes.project"):
    """The notes all conversations of the root share: JSON text by key."""


class KeepProjectNote(Ask[bool], frozen=True, tag="notes.keep"):
    """Keep a note for all conversations of the root, or forget it (`content` ""); whether one was there before."""

    key: str
    content: str


RECALLING_ASKS = (ReadOriginals, ReadProjectNotes, KeepProjectNote)
