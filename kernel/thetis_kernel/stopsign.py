"""A stop that tells those who wait for it: an event threads can wait on, and one that calls back when it is set.

A plain event has to be looked at again and again by whoever waits for something else as well; a stop has 200 ms in all.
Knows nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class StopSign(threading.Event):
    """Set once, by any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._guard = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        """Stop. Callbacks run in this thread, each once."""
        with self._guard:
            super().set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback`, which must not block, when set (now, if it is). Returns the function that takes it out."""
        with self._guard:
            late = self.is_set()
            if not late:
                self._callbacks.append(callback)
        if late:
            callback()

        def remove() -> None:
            with self._guard:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return remove
