"""The git host: the process that holds pygit2, one per root. Role "git".

Owns the step from requests to `thetis_kernel.repo`: progress as notices, withdrawal as cancel, and an end to requests
that libgit2 will never return from. It keeps no state: killed at any point, the next one goes on from the disk.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thetis_kernel.supervise.context import ChildContext

GRACE = 20.0
"""Seconds after a request's deadline before a thread still inside it counts as stuck."""
EX_TEMPFAIL = 75  # sysexits.h


def serve(context: ChildContext) -> None:
    """Serve requests until asked to stop (the contract of a role, see `supervise.context`)."""
    from thetis_kernel.hosts.git.handlers import Handlers

    handlers = Handlers()
    handlers.peer = context.connect(asks=handlers.table())
    threading.Thread(target=_watch, args=(handlers.overdue,), name="watch for stuck requests", daemon=True).start()
    context.run()


def _watch(overdue: Callable[[float], str]) -> None:
    """End the process when a request is stuck in libgit2, as on a named pipe put where a file was: nothing else stops
    such a thread, and it holds its worktree's lock. The supervisor starts another."""
    while True:
        time.sleep(1.0)
        stuck = overdue(GRACE)
        if stuck:
            sys.stderr.write(f"git host: {stuck} did not come back; starting over\n")
            sys.stderr.flush()
            os._exit(EX_TEMPFAIL)
