"""The person's own setup command, run once in a new worktree: inside the walls, like every command, whatever the mode.

Must not know when it is wanted, nor what its failure means.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.errors import WallError
from thetis_kernel.hosts.worker.commands import WalledCommands
from thetis_kernel.protocol.worker import SetUp, SetUpDone
from thetis_kernel.toolhost.context import CommandRun

if TYPE_CHECKING:
    from thetis_kernel.ipc.threads import Serving, ThreadPeer
    from thetis_kernel.walls.helper import Helpers

TIMEOUT_MS = 600_000
"""What any command may have at most: installing packages takes a while."""
TOLD = 4000
"""Characters of the output's end that are told."""


def set_up(ask: SetUp, peer: ThreadPeer, serving: Serving, helpers: Helpers) -> SetUpDone:
    """Run it. A command that cannot be confined, fails or is ended by its time is an answer, not an error."""
    place = ask.place
    spill = Path(place.spill) / "setup.txt"
    spill.unlink(missing_ok=True)  # of a setup that was cut short
    run = CommandRun(ask.command, Path(place.worktree), TIMEOUT_MS, spill)
    try:
        done = WalledCommands(place, peer, helpers).run(run, lambda text: None, serving.withdrawn)
    except WallError as error:
        return SetUpDone(exit=-1, output=str(error))
    serving.check()
    output = str(done["output"])[-TOLD:]
    more = f"\n(the whole output: {done['spill']})" if done["spill"] else ""
    late = "\nIt was ended after 10 minutes." if done["timed_out"] else ""
    return SetUpDone(exit=done["exit"], output=output.rstrip() + more + late, duration_ms=done["duration_ms"])
