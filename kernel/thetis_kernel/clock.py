"""Time as a seam: wall-clock milliseconds for people, monotonic seconds for deadlines.

Order is decided by sequence numbers only; a wall-clock value never decides anything (reliability D9).
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the kernel asks of time."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, for display only."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back, for deadlines and durations."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class FakeClock:
    """A clock tests move by hand; both readings advance together."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._ms = start_ms
        self._monotonic = 0.0

    def now_ms(self) -> int:
        return self._ms

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both clocks forward by `seconds`."""
        self._ms += int(seconds * 1000)
        self._monotonic += seconds


SYSTEM = SystemClock()
