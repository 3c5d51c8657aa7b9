"""Which events of a log a few words choose: names of kinds choose kinds, everything else is looked for in the events' text.

Must not know about widgets. A log of any length is gone through in pages, newest first, so that what is near shows first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from thetis_kernel.protocol.client import EventPage
from thetis_kernel.protocol.events import KINDS, Event

from thetis_tui.summary import clock, gist

PAGE = 500
MOST = 20_000
"""Lines kept of what matches."""
Read = Callable[[int, int], Awaitable[EventPage]]


@dataclass(frozen=True, slots=True)
class Filter:
    """`kinds` any of which an event must be (all of them when empty); `words` all of which it must hold, in lower case."""

    kinds: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    def takes(self, event: Event) -> bool:
        """Whether the event is chosen."""
        if self.kinds and event.kind not in self.kinds:
            return False
        if not self.words:
            return True
        text = event.raw.decode("utf-8", "replace").casefold()
        return all(word in text or word in event.kind for word in self.words)

    def __bool__(self) -> bool:
        return bool(self.kinds or self.words)


def parsed(text: str) -> Filter:
    """What a person typed. A word that begins exactly one kind, or is one, chooses kinds; `tool` chooses calls and results."""
    kinds: set[str] = set()
    words: list[str] = []
    for word in text.casefold().split():
        exact = word in KINDS
        near = {kind for kind in KINDS if kind.startswith(word + "-")}
        if exact or near:
            kinds |= {word} if exact else near
        else:
            words.append(word)
    return Filter(frozenset(kinds), tuple(words))


def line_of(event: Event) -> tuple[str, str, str]:
    """(time of day, kind, gist): a line of the pane."""
    return clock(event.ts_ms), event.kind, gist(event)


async def chosen(read: Read, last: int, wanted: Filter) -> AsyncIterator[list[tuple[int, tuple[str, str, str]]]]:
    """Pages of (seq, line) of the events that are chosen, newest page first, each in the log's order."""
    upto, found = last, 0
    while upto > 0 and found < MOST:
        after = max(0, upto - PAGE)
        at, hits = after, []
        while at < upto:  # a page may end early where events are large
            page = await read(at, upto - at)
            if not page.events:
                break
            hits += [(event.seq, line_of(event)) for event in page.events if event.seq <= upto and wanted.takes(event)]
            at = page.events[-1].seq
        found += len(hits)
        yield hits
        upto = after
