"""Words on their way to the gateway: in order per conversation, waiting while there is no gateway yet, never lost.

Must not know about widgets. The conversation itself is created by its first words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from thetis_kernel.errors import PeerGone, ThetisError
from thetis_kernel.protocol.client import Submitted
from thetis_kernel.protocol.ids import new_event_id


@dataclass(eq=False, slots=True)
class Place:
    """Where words go: a conversation, or one that its first words will create (`session` "" until then)."""

    session: str = ""
    turn_of: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Words:
    """One message of the person; `later`: for the queue."""

    event_id: str
    text: str
    place: Place
    with_changes: bool = False
    later: bool = False


class Outbox:
    """Sends words. `create` makes a conversation and sets the place's session, `submit` sends one message.

    `sent` and `failed` are told how it went; an error concerns one message, the ones behind it are still tried.
    """

    def __init__(
        self,
        create: Callable[[Place], Awaitable[None]],
        submit: Callable[[Words], Awaitable[Submitted]],
        sent: Callable[[Words, Submitted], None],
        failed: Callable[[Words, ThetisError], None],
    ) -> None:
        self._create = create
        self._submit = submit
        self._sent = sent
        self._failed = failed
        self._open = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], Words] = {}
        self._leaving: set[str] = set()

    @property
    def waiting(self) -> int:
        """Messages not yet durable."""
        return len(self._tasks)

    def ready(self) -> None:
        """The gateway is there: send what waits."""
        self._open.set()

    def pause(self) -> None:
        """The gateway is gone: what has not arrived waits for the next one."""
        self._open.clear()

    def send(self, place: Place, text: str, *, with_changes: bool = False, later: bool = False) -> Words:
        """Send `text`; returns at once."""
        words = Words(new_event_id(), text, place, with_changes, later)
        task = asyncio.get_running_loop().create_task(self._deliver(words))
        self._tasks[task] = words
        task.add_done_callback(self._tasks.pop)
        return words

    def held(self, place: Place) -> list[Words]:
        """What waits for its turn and has not begun to leave, oldest first."""
        return [w for w in self._tasks.values() if w.place is place and w.event_id not in self._leaving]

    def later(self, place: Place) -> list[Words]:
        """What is on its way to the queue, oldest first."""
        return [words for words in self._tasks.values() if words.place is place and words.later]

    def recall(self, place: Place) -> list[Words]:
        """Take back what has not begun to leave; returns it, oldest first."""
        held = self.held(place)
        for task in [task for task, words in self._tasks.items() if words in held]:
            task.cancel()
        return held

    async def _deliver(self, words: Words) -> None:
        await self._open.wait()
        async with words.place.turn_of:
            self._leaving.add(words.event_id)
            try:
                self._sent(words, await self._arrive(words))
            except ThetisError as error:
                self._failed(words, error)
            finally:
                self._leaving.discard(words.event_id)

    async def _arrive(self, words: Words) -> Submitted:
        """Say the words until a gateway has heard them; whether a lost one had is no matter, their event id is the same."""
        while True:
            await self._open.wait()
            try:
                if not words.place.session:
                    await self._create(words.place)
                return await self._submit(words)
            except PeerGone:
                if self._open.is_set():
                    raise  # nobody is looking for another one

    def close(self) -> None:
        """Send nothing more."""
        for task in self._tasks:
            task.cancel()
