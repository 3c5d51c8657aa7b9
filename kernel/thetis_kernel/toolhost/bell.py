"""A bell for those who sleep until something happens: rung from any thread, heard by every sleeper.

A sleeper notes how often it has rung before it looks at the world, so that what rings in between is not missed. Knows nobody.
"""

from __future__ import annotations

import threading


class Bell:
    """`deaf`: rings are swallowed, for tests that prove that sleepers do not depend on them."""

    def __init__(self, *, deaf: bool = False) -> None:
        self._rung = threading.Condition()
        self._deaf = deaf
        self.rings = 0

    def ring(self) -> None:
        """Wake every sleeper. Must not block: the channel's reader rings it."""
        if self._deaf:
            return
        with self._rung:
            self.rings += 1
            self._rung.notify_all()

    def sleep(self, heard: int, seconds: float) -> None:
        """Until it has rung more often than `heard`, for at most `seconds`."""
        with self._rung:
            if self.rings == heard and seconds > 0:
                self._rung.wait(seconds)
