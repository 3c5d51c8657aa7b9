"""What a client may ask about a conversation's queue: the words a person has for later. Added to with `Submit`."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.wire import Ask


class QueuedWords(msgspec.Struct, frozen=True):
    """Words that wait, by the id of their queued event."""

    id: str
    text: str
    author: str = ""


class GetQueue(Ask[list[QueuedWords]], frozen=True, tag="client.queue"):
    """What waits, in order; recalled words do not."""

    session: str


class EditQueued(Ask[None], frozen=True, tag="client.queue-edit"):
    """Let words of the queue read `text`; recalled ones go back to their place. Refused (`not-queued`) once they are said."""

    session: str
    id: str
    text: str


class RecallQueued(Ask[str], frozen=True, tag="client.queue-recall"):
    """Take words out of the queue; answers them, asked twice as well. Refused (`not-queued`) once they are said."""

    session: str
    id: str


class SayQueued(Ask[bool], frozen=True, tag="client.queue-say"):
    """Begin a turn with the next words of the queue, which waits after a stop; False when one runs or nothing waits."""

    session: str


QUEUE_ASKS = (GetQueue, EditQueued, RecallQueued, SayQueued)
