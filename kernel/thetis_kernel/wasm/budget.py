"""The time of one call: processor time inside wasm, with what happens inside imports taken out.

An epoch is wall-clock time and a loaded machine would cut honest guests short, so the deadline callback asks here
every tick and the thread's own processor clock decides. Waiting inside WASI (a slow disk) is bounded by WALL_FACTOR.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WALL_FACTOR = 10
"""Wall-clock time inside wasm may be this many times the budget of processor time."""


class Budget:
    """`cpu_ms` for one call. All but `overdue` belong to the guest's thread."""

    def __init__(self, cpu_ms: int) -> None:
        self._cpu_s = cpu_ms / 1000
        self._cpu_began = self._wall_began = 0.0
        self._cpu_outside = self._wall_outside = self._slept = 0.0
        self._import_cpu = self._import_wall = 0.0
        self._in_import = False
        self.resumed: Callable[[], None] | None = None
        """Called when wasm runs again after an import; must not block."""

    def start(self) -> None:
        """The call begins on this thread."""
        self._cpu_began, self._wall_began = time.thread_time(), time.monotonic()

    def enter_import(self) -> None:
        self._import_cpu, self._import_wall = time.thread_time(), time.monotonic()
        self._in_import = True

    def leave_import(self) -> None:
        self._in_import = False
        self._cpu_outside += time.thread_time() - self._import_cpu
        self._wall_outside += time.monotonic() - self._import_wall
        if self.resumed is not None:
            self.resumed()

    def charge(self, seconds: float) -> None:
        """Take time off the budget: a guest that sleeps spends it."""
        self._slept += seconds

    def left(self) -> float:
        """Seconds of processor time the guest still has; 0 or less when it has used them up, or waited too long."""
        now = self._import_cpu if self._in_import else time.thread_time()
        used = now - self._cpu_began - self._cpu_outside + self._slept
        return min(self._cpu_s - used, self._wall_left(time.monotonic()) / WALL_FACTOR)

    def overdue(self, now: float, grace: float) -> bool:
        """Whether the call should have been stopped `grace` seconds ago and is stuck outside both wasm and imports.

        `now`: time.monotonic(). Any thread may ask.
        """
        return not self._in_import and bool(self._wall_began) and self._wall_left(now) < -grace

    @property
    def in_import(self) -> bool:
        return self._in_import

    def _wall_left(self, now: float) -> float:
        if self._in_import:
            now = self._import_wall
        return WALL_FACTOR * self._cpu_s - (now - self._wall_began - self._wall_outside)
