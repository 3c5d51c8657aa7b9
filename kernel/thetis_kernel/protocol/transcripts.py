"""Earlier conversations of the root, as an agent finds and reads them: bounded pages with numbers to go on from."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.wire import Ask


class Told(msgspec.Struct, frozen=True):
    """A conversation in a line. `id`: enough of its id to name it; `last`: its newest event's number; times in milliseconds."""

    id: str
    title: str
    created_ms: int
    updated_ms: int
    last: int
    preview: str = ""
    own: bool = False


class Found(msgspec.Struct, frozen=True):
    """A place that holds the words: conversation, event number, kind, and a line around the first of them."""

    id: str
    title: str
    seq: int
    kind: str
    line: str


class Entry(msgspec.Struct, frozen=True):
    """One event as text; `more`: characters that were left out."""

    seq: int
    kind: str
    text: str
    more: int = 0


class Listing(msgspec.Struct, frozen=True):
    """Conversations, the last used first; `more` when there are others."""

    conversations: list[Told]
    more: bool = False


class Hits(msgspec.Struct, frozen=True):
    """Places, newest first; `more` when there may be others."""

    hits: list[Found]
    more: bool = False


class Page(msgspec.Struct, frozen=True):
    """Entries of one conversation in order. `next`: what to give as `from_seq` to go on, 0 at the end."""

    id: str
    title: str
    entries: list[Entry]
    next: int = 0


class ListTranscripts(Ask[Listing], frozen=True, tag="worker.transcripts"):
    """Conversations of this root."""

    limit: int = 20
    archived: bool = False


class SearchTranscripts(Ask[Hits], frozen=True, tag="worker.search-transcripts"):
    """Events that hold all the words. `conversation` "": every other one. What tools were given and said only with `tools`."""

    query: str
    conversation: str = ""
    limit: int = 20
    tools: bool = False


class ReadTranscript(Ask[Page], frozen=True, tag="worker.read-transcript"):
    """Events of a conversation from number `from_seq` on, `chars` of each at most."""

    conversation: str
    from_seq: int = 1
    limit: int = 40
    chars: int = 600


TRANSCRIPT_ASKS = (ListTranscripts, SearchTranscripts, ReadTranscript)
