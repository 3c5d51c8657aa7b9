"""A process that starts another one again when it dies: what systemd is to a service, for a daemon started by hand.

Forked before anything is imported, so that it costs next to nothing. What ends by itself, with whatever status, stays ended;
what a signal killed is started again, three times in a minute at most. Knows nothing of what it keeps.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

from thetis_kernel.cli.apart import blank_environment, readable, restore_environment

MOST = 3
WITHIN_S = 60.0
CRASHED = 70
"""The exit status of a program that met an error of its own (sysexits.h)."""
_PASSED_ON = (signal.SIGTERM, signal.SIGINT)


def keep(work: Callable[[bool], int]) -> int:
    """Run `work(again)` in a child for as long as it is killed; its exit status. Returns in the child as well as here."""
    deaths: list[float] = []
    while True:
        child = os.fork()
        if child == 0:
            if deaths:
                readable(True)  # the daemon and its children look into their own /proc
                restore_environment()
            return work(bool(deaths))
        blank_environment()  # the keeper holds it for the next start, keys too
        readable(False)
        status = _wait(child)
        if status >= 0 and status != CRASHED:
            return status
        now = time.monotonic()
        deaths = [*(death for death in deaths if now - death < WITHIN_S), now]
        if len(deaths) > MOST:
            return CRASHED


def _wait(child: int) -> int:
    """How the child ended, passing on what should end it: its status, negative for a signal."""
    def pass_on(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
