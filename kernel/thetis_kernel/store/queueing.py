"""A conversation's queue as its log tells it: words a person has for later, in the order they were said.

A part of the fold (`folds.SessionState.queue`). Words that were recalled keep their place, so that they can go back to it
once they are changed; the places go when nothing waits any more.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.events import BlobRef, Queued, QueueEdited, QueueRecalled


class Waiting(msgspec.Struct):
    """Words in the queue. `recalled`: the person has them in hand, they are not to be said."""

    text: str
    author: str = ""
    recalled: bool = False
    attachments: list[BlobRef] = []


Queue = dict[str, Waiting]
"""By id, in order."""


def queued(queue: Queue, body: Queued) -> None:
    """New words at the end."""
    queue[body.id] = Waiting(body.text, body.author, attachments=body.attachments)


def edited(queue: Queue, body: QueueEdited) -> None:
    """Other words in the same place."""
    waiting = queue.get(body.id)
    if waiting is not None:
        waiting.text, waiting.recalled = body.text, False


def recalled(queue: Queue, body: QueueRecalled) -> None:
    """Words taken back."""
    waiting = queue.get(body.id)
    if waiting is not None:
        waiting.recalled = True
        # Places are kept for words in hand only while others give them a meaning, and one pair of hands holds few.
        _forget(queue, keep=body.id)


def said(queue: Queue, identifier: str) -> None:
    """Words that a turn begins with; "" for words that never waited."""
    if identifier and queue.pop(identifier, None) is not None:
        _forget(queue)


def next_of(queue: Queue) -> str:
    """The id of the words that are said next, "" for none."""
    return next((identifier for identifier, waiting in queue.items() if not waiting.recalled), "")


def _forget(queue: Queue, keep: str = "") -> None:
    if all(waiting.recalled for waiting in queue.values()):
        for identifier in [identifier for identifier in queue if identifier != keep]:
            del queue[identifier]
