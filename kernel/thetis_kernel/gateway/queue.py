"""Words for later: they wait in the log until a turn begins with them, are changed there, and are taken back.

One change of a conversation's queue at a time, so that words are either said or recalled, and never both. Must not know
when a turn may begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from thetis_kernel import crash
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import BlobRef, Event, Queued, QueueEdited, QueueRecalled, User
from thetis_kernel.protocol.queueing import QueuedWords
from thetis_kernel.store.queueing import Waiting, next_of


class Queue:
    """The queues of all conversations of the root."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._locks: dict[str, asyncio.Lock] = {}

    async def all(self, session: str) -> list[QueuedWords]:
        """What waits, in order."""
        queue = (await self._log.state(session)).queue
        return [QueuedWords(id=identifier, text=waiting.text, author=waiting.author)
                for identifier, waiting in queue.items() if not waiting.recalled]

    async def add(self, session: str, text: str, event_id: str, attachments: Sequence[BlobRef] = ()) -> Event:
        """Words at the end; `event_id` is their id from then on. The same one again changes nothing."""
        async with self._one(session):
            words = Queued(id=event_id, text=text, attachments=list(attachments))
            return await self._log.append(session, words, event_id=event_id)

    async def edit(self, session: str, identifier: str, text: str) -> None:
        """Other words in the same place. Raises UsageError when they are not in the queue any more."""
        if not text.strip():
            raise UsageError("There is nothing to say.", hint="Recall the message to take it out of the queue.")
        async with self._one(session):
            waiting = await self._waiting(session, identifier)
            if waiting.recalled or waiting.text != text:
                await self._log.append(session, QueueEdited(id=identifier, text=text))

    async def recall(self, session: str, identifier: str) -> str:
        """The words, taken out of the queue. Raises UsageError when they are not in it any more."""
        async with self._one(session):
            waiting = await self._waiting(session, identifier)
            if not waiting.recalled:
                await self._log.append(session, QueueRecalled(id=identifier))
            return waiting.text

    async def say(self, session: str) -> Event | None:
        """Put the next words into the conversation, in one event with their leaving the queue; None when nothing waits."""
        async with self._one(session):
            queue = (await self._log.state(session)).queue
            identifier = next_of(queue)
            if not identifier:
                return None
            waiting = queue[identifier]
            said = await self._log.append(session, _words(waiting, identifier))
            crash.point("queue.said")
            return said

    async def _waiting(self, session: str, identifier: str) -> Waiting:
        waiting = (await self._log.state(session)).queue.get(identifier)
        if waiting is None:
            raise UsageError("This message is not in the queue any more.", code="not-queued",
                             hint="A turn has begun with it, or it was taken back.")
        return waiting

    def _one(self, session: str) -> asyncio.Lock:
        return self._locks.setdefault(session, asyncio.Lock())


def _words(waiting: Waiting, identifier: str) -> User:
    return User(text=waiting.text, author=waiting.author, attachments=waiting.attachments, queued=identifier)
