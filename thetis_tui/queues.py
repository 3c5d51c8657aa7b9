"""The queues as the screen knows them: what waits in each conversation, and what the person has in hand of it.

Must not know about widgets or the gateway.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.queueing import QueuedWords


@dataclass(slots=True)
class Queues:
    """The fold. `news` counts its changes, so that an answer from before one is not taken for what is there now."""

    news: int = 0
    _waiting: dict[str, dict[str, QueuedWords]] = field(default_factory=dict)
    _hands: dict[str, str] = field(default_factory=dict)

    def of(self, session: str) -> list[QueuedWords]:
        """What waits, in order."""
        return list(self._waiting.get(session, {}).values())

    def put(self, session: str, words: list[QueuedWords]) -> None:
        """The whole queue, as the gateway has it."""
        self._waiting[session] = {one.id: one for one in words}

    def event(self, event: e.Event) -> bool:
        """Fold a durable event in. False when the queue has to be asked for, because the event speaks of words not known."""
        if event.kind not in _KINDS:
            return True
        waiting = self._waiting.setdefault(event.session, {})
        match event.body:
            case e.Queued(id=identifier, text=text, author=author):
                waiting[identifier] = QueuedWords(identifier, text, author)
            case e.QueueEdited(id=identifier, text=text):
                if identifier not in waiting:
                    return False
                waiting[identifier] = QueuedWords(identifier, text, waiting[identifier].author)
            case e.QueueRecalled(id=identifier):
                waiting.pop(identifier, None)
            case e.User(queued=identifier) if identifier:
                waiting.pop(identifier, None)
            case _:
                return True
        self.news += 1
        return True

    def take(self, session: str, identifier: str) -> None:
        """The person has these words in the prompt now."""
        self._hands[session] = identifier

    def let_go(self, session: str) -> str:
        """The id of the words that were in hand, and are not any more; "" for none."""
        return self._hands.pop(session, "")

    def in_hand(self, session: str) -> bool:
        """Whether what stands in the prompt came out of the queue."""
        return session in self._hands


_KINDS = frozenset({"queued", "queue-edited", "queue-recalled", "user"})
