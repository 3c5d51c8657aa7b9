"""One stage of a runtime made ahead of the call that will use it (ADR 45).

A spare has never run anything of a guest, knows no call, and serves one. It is made by the thread of a call that has been
answered, so it costs nobody a wait, and only between `hold` and its end: what is held open by nobody keeps no memory. It belongs
to a runtime, not to a guest; a guest that is replaced leaves nothing behind in it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

import wasmtime

from thetis_kernel.wasm import engine
from thetis_kernel.wasm.contract import FunctionShape
from thetis_kernel.wasm.engine import Runtime
from thetis_kernel.wasm.limits import Limits
from thetis_kernel.wasm.stage import Stage, bounds
from thetis_kernel.wasm.threads import start_thread

__all__ = ["Spares"]

MAKING_S = 2.0
"""A spare that takes longer is given up; one takes 1.5 ms."""


class Spares:
    """At most one spare of `runtime()` for calls with the store's part of `limits`. Any thread."""

    def __init__(self, runtime: Callable[[], Runtime], limits: Limits) -> None:
        self._runtime = runtime
        self._limits = limits
        self._lock = threading.Lock()
        self._holders = 0
        self._hot = False
        self._making = False
        self._spare: Stage | None = None
        self._owner = os.getpid()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """While the block runs, calls are likely: a spare is kept, from the start if calls came in an earlier block."""
        with self._lock:
            self._holders += 1
            wanted = self._hot and self._holders == 1
        if wanted:
            start_thread(self.restock, "wasm-spare")
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                left = None
                if not self._holders:
                    left, self._spare = self._spare, None
            if left is not None:
                left.close()

    def take(self, runtime: Runtime, limits: Limits) -> Stage | None:
        """The spare, which is then the caller's; None when there is none that fits. Does not wait."""
        with self._lock:
            self._hot = True
            spare = self._spare
            if spare is None or spare.runtime is not runtime or spare.bounds != bounds(limits) or os.getpid() != self._owner:
                return None
            self._spare = None
            return spare

    def restock(self) -> None:
        """Make a spare if one is wanted and there is none. On a guest's thread, when nobody waits for that; raises nothing."""
        with self._lock:
            if not self._holders or self._making or self._spare is not None:
                return
            self._making = True
        made: Stage | None = None
        try:
            made = self._made()
        finally:
            with self._lock:
                self._making = False
                if self._holders and made is not None:
                    self._spare, made = made, None
            if made is not None:
                made.close()

    def _made(self) -> Stage | None:
        making = _Making()
        try:
            with engine.ticker().running(making):
                return Stage(self._runtime(), self._limits, making)
        except (wasmtime.WasmtimeError, wasmtime.Trap):
            return None  # the call that would have used it makes its own, and says what is wrong


class _Making:
    """Nobody's call: instantiating may use no import, and not much time."""

    in_import = False

    def __init__(self) -> None:
        self._until = time.monotonic() + MAKING_S

    def answer(self, shape: FunctionShape, args: list[object]) -> NoReturn:
        raise RuntimeError(f"{shape.key} is called while no call runs")

    def tick(self) -> bool:
        return time.monotonic() < self._until

    def stuck(self, now: float, grace: float) -> bool:
        return now > self._until + grace

    def give_up(self) -> None:
        return  # nobody waits for it
