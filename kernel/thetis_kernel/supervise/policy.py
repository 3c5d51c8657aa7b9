"""When a child that keeps dying is given up: a pure rule over times, so that it can be tested without processes."""

from __future__ import annotations

from collections import deque

MAX_RESTARTS = 3
WINDOW = 60.0
"""3 restarts within 60 s, then parked (reliability R15)."""


class Restarts:
    """One child's history. Times are monotonic seconds and never go back.

    Parked is for ever, until a person asks for another try (`forgive`): a child that dies whenever it is started
    would otherwise come back in a slow loop that nobody sees.
    """

    def __init__(self, *, maximum: int = MAX_RESTARTS, window: float = WINDOW) -> None:
        self._maximum = maximum
        self._window = window
        self._restarts: deque[float] = deque()
        self._parked = False

    @property
    def parked(self) -> bool:
        """Whether it must not be started again."""
        return self._parked

    def crashed(self, now: float) -> bool:
        """The child has died without being asked to; whether it may be started again."""
        self._forget(now)
        if self._parked or len(self._restarts) >= self._maximum:
            self._parked = True
            return False
        self._restarts.append(now)
        return True

    def clean(self, now: float) -> bool:
        """Whether nothing in the history matters any more."""
        self._forget(now)
        return not self._parked and not self._restarts

    def forgive(self) -> None:
        """Start over with an empty history."""
        self._restarts.clear()
        self._parked = False

    def _forget(self, now: float) -> None:
        while self._restarts and now - self._restarts[0] >= self._window:
            self._restarts.popleft()
