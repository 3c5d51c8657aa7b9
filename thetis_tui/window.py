"""Decides which events of a conversation are mounted: the log is the truth, the screen a window on it.

The window is one stretch (after, upto] of the log. It grows at the end while the reader follows, at the top when they
scroll up, and is cut at the far side so that it stays bounded however long the log is. Must not know about widgets:
it counts events that show something and says which to load and which to drop.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

PAGE = 40
"""Events asked for at once: one page renders in a few milliseconds and fills any terminal."""


class Span(NamedTuple):
    """The events with `after` < seq <= `upto`."""

    after: int
    upto: int


@dataclass(slots=True)
class Window:
    """Which stretch of the log is mounted, and what to do next.

    `high`/`low`: when more than `high` visible events are mounted, the far end is cut down to `low` of them.
    """

    page: int = PAGE
    high: int = 160
    low: int = 100
    after: int = 0
    upto: int = 0
    last: int = 0
    mounted: deque[int] = field(default_factory=deque)
    """Sequence numbers of the mounted events that show something, oldest first."""

    @property
    def at_end(self) -> bool:
        """Whether the mounted stretch reaches the end of the log."""
        return self.upto >= self.last

    @property
    def below(self) -> int:
        """Events of the log after the mounted stretch."""
        return max(0, self.last - self.upto)

    def open(self, last: int, at: int = 0) -> Span:
        """Start over at the end of the log, or around event `at`; returns what to load first."""
        self.mounted.clear()
        self.last = last
        self.upto = last if at <= 0 else min(last, at + self.page // 2)
        self.after = self.upto
        return Span(max(0, self.upto - self.page), self.upto)

    def grew(self, last: int) -> None:
        """The log now ends at `last`."""
        self.last = max(self.last, last)

    def older(self) -> Span | None:
        """What to load when the reader nears the top; None at the beginning of the log."""
        return Span(max(0, self.after - self.page), self.after) if self.after > 0 else None

    def newer(self, *, following: bool) -> Span | None:
        """What to load at the end: everything for a follower.

        A reader who is elsewhere gets what continues a mounted end, up to `high` events, and nothing of what is far.
        """
        if self.at_end or (not following and (len(self.mounted) >= self.high or self.below > self.page)):
            return None
        return Span(self.upto, min(self.last, self.upto + self.page))

    def loaded(self, span: Span, shown: list[int]) -> None:
        """The events of `span` are mounted; `shown` are those that show something, ascending."""
        if span.upto == self.after:
            self.mounted.extendleft(reversed(shown))
            self.after = span.after
        elif span.after == self.upto:
            self.mounted.extend(shown)
            self.upto = span.upto
        else:
            raise ValueError(f"span {span} does not touch the window ({self.after}, {self.upto}]")

    def cut_top(self) -> list[int]:
        """Events to unmount at the top (for a follower), oldest first."""
        if len(self.mounted) <= self.high:
            return []
        gone = [self.mounted.popleft() for _ in range(len(self.mounted) - self.low)]
        self.after = self.mounted[0] - 1
        return gone

    def cut_bottom(self) -> list[int]:
        """Events to unmount at the bottom (for a reader far up), oldest first."""
        if len(self.mounted) <= self.high:
            return []
        gone = [self.mounted.pop() for _ in range(len(self.mounted) - self.low)]
        self.upto = self.mounted[-1]
        return gone[::-1]
