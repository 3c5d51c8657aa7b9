"""The clone host: a process for one clone of a stranger's repository, ended with it. Role "clone".

It has no key, no log and no configuration of anybody's; what it writes is one directory that nothing else knows yet.
Ending it at any moment ends the clone.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.net import addresses, allow
from thetis_kernel.protocol.clone import Clone, Cloned, CloneProgress, Stage

if TYPE_CHECKING:
    from thetis_kernel.ipc.threads import Serving
    from thetis_kernel.supervise.context import ChildContext

MAX_FILE = 4 << 30
"""Bytes of any one file it writes, packs included."""
MAX_MEMORY = 6 << 30
"""Of address space: packs are mapped, and a delta is resolved in memory."""
EVERY_S = 0.2


def serve(context: ChildContext) -> None:
    """Serve requests until asked to stop (the contract of a role, see `supervise.context`)."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from thetis_kernel.repo import clone as repo
    from thetis_kernel.repo.job import Job

    repo.isolate()

    def clone(ask: Clone, serving: Serving) -> Cloned:
        check_address(ask.url, ask.literal)
        last = 0.0

        def report(stage: Stage, done: int, total: int, size: int) -> None:
            nonlocal last
            if time.monotonic() - last > EVERY_S:
                last = time.monotonic()
                peer.tell(CloneProgress(stage=stage, done=done, total=total, bytes=size))

        return repo.clone(ask.url, Path(ask.place), ask.ref, ask.depth, Job(serving.check), report)

    peer = context.connect(asks={Clone: clone})
    context.run()


def check_address(url: str, literal: bool) -> None:
    """Return when the host of `url` is out in the open. `literal`: it is an address within the person's network, as they were
    shown it, so nothing is looked up.

    A name is looked up once more by the library that connects. It speaks TLS with what it finds, so another answer then
    leads to a certificate that does not fit. Raises Refused, NotAUrl, ThetisError `net-resolve`.
    """
    origin = allow.target(url).origin
    if literal:
        return
    addresses.open_ones(origin.host, addresses.resolve(origin.host, origin.port))
