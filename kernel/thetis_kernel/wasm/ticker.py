"""The thread that moves the engine's clock while calls run, and notices calls that nothing can stop.

Epochs stop wasm; they do not reach a guest that waits inside WASI (opening a pipe nobody writes to). Such a call is
given up: its waiter gets the error, its thread stays behind, and the process should be replaced (`stuck_calls`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from thetis_kernel.wasm.settings import TICK_MS

GRACE_S = 2.0
"""A call that should have stopped this long ago is stuck: wasm stops within two ticks."""

_WATCH_TICKS = 50
DOZE_S = 0.5
"""Between two ticks while every call is inside an import, which the clock does not concern: a turn may sleep there for hours."""


class Watched(Protocol):
    """A running call, as the ticker sees it."""

    def stuck(self, now: float, grace: float) -> bool:
        """Whether it should have ended `grace` seconds before `now` (monotonic)."""
        ...

    def give_up(self) -> None:
        """Tell whoever waits for it. Called once; must not block."""
        ...

    @property
    def in_import(self) -> bool:
        """Whether it is in the host's hands now, and no wasm of it runs."""
        ...


class Ticker:
    """Calls `advance` every TICK_MS while any call runs; waits without cost while none does."""

    def __init__(self, advance: Callable[[], None]) -> None:
        self._advance = advance
        self._lock = threading.Lock()
        self._calls: set[Watched] = set()
        self._given_up: set[Watched] = set()
        self._wake = threading.Event()
        self._dozing = False
        self._roused = threading.Event()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def running(self, call: Watched) -> Iterator[None]:
        """While the block runs, so does the clock, and `call` is watched."""
        with self._lock:
            self._calls.add(call)
            self._wake.set()
            self.rouse()
            if self._thread is None or not self._thread.is_alive():  # not alive: this is a forked child
                self._thread = threading.Thread(target=self._tick, name="wasm-epoch", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._calls.discard(call)
                self._given_up.discard(call)
                if not self._calls:
                    self._wake.clear()

    def rouse(self) -> None:
        """Wasm of some call runs again."""
        if self._dozing:
            self._roused.set()

    def stuck_calls(self) -> int:
        """How many calls have been given up and are still not back."""
        with self._lock:
            return len(self._given_up)

    def _tick(self) -> None:
        ticks = 0
        while True:
            self._wake.wait()
            self._dozing = True  # before the look: who leaves an import after it rouses
            if self._asleep():
                self._roused.wait(DOZE_S)
            else:
                time.sleep(TICK_MS / 1000)
            self._dozing = False
            self._roused.clear()
            self._advance()
            ticks += 1
            if ticks % _WATCH_TICKS == 0:
                self._watch(time.monotonic())

    def _asleep(self) -> bool:
        with self._lock:
            return bool(self._calls) and all(call.in_import for call in self._calls)

    def _watch(self, now: float) -> None:
        with self._lock:
            stuck = [call for call in self._calls - self._given_up if call.stuck(now, GRACE_S)]
            self._given_up.update(stuck)
        for call in stuck:
            call.give_up()
