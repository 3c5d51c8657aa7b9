"""What a long operation knows of whoever asked for it: whether it is still wanted, and how to say how far it is.

Must not know channels; the git host makes one from a request, tests make one from two functions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from thetis_kernel.errors import RepoError

Phase = Literal["checkout", "changes", "sync"]
INTERVAL = 0.1
"""Seconds between two reports; twice as often as promised."""


class Counter:
    """How far one phase is; the working thread counts, the reporting thread reads."""

    def __init__(self, total: int) -> None:
        self.done = 0
        self.total = total


class Job:
    """`check` raises when the work is no longer wanted. `report(phase, done, total)` may be called from any thread.

    `patience`: seconds to wait for others that hold a lock. `secret(contents)`: whether a file holds a secret we know;
    `guarded(path)`: whether its name says that it is there to hold one.
    """

    def __init__(
        self,
        check: Callable[[], None] = lambda: None,
        report: Callable[[Phase, int, int], None] = lambda phase, done, total: None,
        patience: float = 10.0,
        secret: Callable[[bytes], bool] = lambda data: False,
        guarded: Callable[[str], bool] = lambda path: False,
    ) -> None:
        self.check = check
        self.secret = secret
        self.guarded = guarded
        self.patience = patience
        self._report = report

    @contextmanager
    def phase(self, name: Phase, total: int = 0) -> Iterator[Counter]:
        """Report `name` every INTERVAL while the body runs, whatever it is doing, and once more when it is done."""
        counter = Counter(total)
        done = threading.Event()

        def tick() -> None:
            self._report(name, counter.done, counter.total)
            while not done.wait(INTERVAL):
                self._report(name, counter.done, counter.total)

        ticker = threading.Thread(target=tick, name=f"progress of {name}", daemon=True)
        ticker.start()
        try:
            yield counter
        finally:
            done.set()
            ticker.join()
        self._report(name, counter.done, counter.total)

    def run(self, function: Callable[[], None]) -> None:
        """Run what cannot be interrupted on a thread of its own and wait for it, unless the work is withdrawn: then
        raise at once and let it finish by itself."""
        raised: list[BaseException] = []

        def work() -> None:
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - handed to the waiting thread
                raised.append(error)

        thread = threading.Thread(target=work, name="uninterruptible", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(INTERVAL)
            if thread.is_alive():
                self.check()
        if raised:
            raise raised[0]

    def wait_for(self, condition: Callable[[], bool], sentence: str, hint: str = "", pause: float = 0.02) -> None:
        """Ask for `condition` every `pause` seconds until it holds; RepoError `locked` with `sentence` after `patience`."""
        until = time.monotonic() + self.patience
        while not condition():
            self.check()
            if time.monotonic() > until:
                raise RepoError(sentence, kind="locked", hint=hint)
            time.sleep(pause)
