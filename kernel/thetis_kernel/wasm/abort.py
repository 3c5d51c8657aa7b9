"""Stopping a guest call from another thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Abort:
    """A stop sign for one call (or several). In wasm it is seen within two ticks; inside an import when that returns.

    An import that blocks should `wait` on it, or have its own stop put in with `on_fire`.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self.reason = ""
        self.fired_at: float | None = None  # time.monotonic()

    @property
    def fired(self) -> bool:
        return self._event.is_set()

    def fire(self, reason: str) -> None:
        """Stop the call. `reason` is one sentence for people; later calls change nothing. Any thread."""
        with self._lock:
            if self._event.is_set():
                return
            self.reason, self.fired_at = reason, time.monotonic()
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def wait(self, seconds: float) -> bool:
        """Wait until fired, at most `seconds`; whether it has fired."""
        return self._event.wait(seconds)

    def on_fire(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when fired (now, if it has been). It must not block. Returns the function that takes it out."""
        with self._lock:
            fired = self._event.is_set()
            if not fired:
                self._callbacks.append(callback)
        if fired:
            callback()

        def remove() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return remove
