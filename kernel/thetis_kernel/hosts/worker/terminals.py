"""The worker's terminals: toolhost's pool, opened within the walls of the turn's place.

Owns the seam between the two, and what a terminal's end tells the gateway. The pool outlives turns; how a terminal is opened
belongs to one, because its boundary does. Must not know how terminals work.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from thetis_kernel.hosts.worker.commands import WalledCommands
from thetis_kernel.protocol.worker import Place
from thetis_kernel.toolhost.machines import Reaching
from thetis_kernel.toolhost.terminals import shell
from thetis_kernel.toolhost.terminals.calls import Terminals
from thetis_kernel.toolhost.terminals.pool import Pool
from thetis_kernel.toolhost.terminals.terminal import Opener
from thetis_kernel.walls.session import Session, open_session


def terminals(
    pool: Pool, place: Place, commands: WalledCommands, cancelled: threading.Event, reaching: Reaching | None = None
) -> Terminals:
    """The pool for a turn in `place`. A shell that has to be started anew later keeps the boundary it was opened with."""
    root = Path(place.worktree)

    def opener(cwd: Path) -> Opener:
        tier, confined = commands.confined("", cwd, cancelled)

        def start(private: Path, size: tuple[int, int]) -> Session:
            command = msgspec.structs.replace(confined, scratch=private)
            return open_session(tier, command, shell.program(private, root, cwd), size, commands.helpers)

        return start

    return Terminals(pool, opener, reaching)


def boundary(place: Place) -> Place:
    """What of a place confines a terminal: where it differs from the turn before, the old terminals must go."""
    return msgspec.structs.replace(place, read_only=False, command_timeout_ms=0, spill="", readable_secrets=[])
