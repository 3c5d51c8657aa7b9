"""The worker's commands: toolhost's request handed to the walls, with consent asked where there are none."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel.errors import WallError
from thetis_kernel.ipc.threads import ThreadPeer
from thetis_kernel.paths import cache_home, state_home, user_config_file
from thetis_kernel.protocol.worker import ConsentUnwalled, Place
from thetis_kernel.toolhost.context import CommandRun
from thetis_kernel.toolhost.tree import WORKSPACE
from thetis_kernel.walls import reading
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.probe import probe
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier
from thetis_kernel.walls.toolchains import Toolchains, find

NO_WALLS = "THETIS_WALLS"
"""Set to `none`, this machine counts as one without walls: commands then need a person's consent."""
NO_NETWORK = re.compile(
    r"could not resolve|name resolution|name or service not known|network is unreachable|getaddrinfo|no route to host", re.I)
"""What programs say when there is no network; the agent is told why."""
OUTPUT_BYTES = 32 * 1024
"""Of a command's output that reaches the log; the whole goes to the spill."""


class WalledCommands:
    """toolhost's Commands over the walls of this machine."""

    def __init__(self, place: Place, peer: ThreadPeer, helpers: Helpers) -> None:
        """`helpers` are the worker's own, so that they stay warm from turn to turn."""
        self.helpers = helpers
        self._place = place
        self._peer = peer

    def confined(self, text: str, cwd: Path, cancel: threading.Event) -> tuple[Tier, Command]:
        """The wall of this machine and a command within this place's boundary, its bounds the defaults.

        Raises WallError when there are no walls and no consent; asking for it waits for the person.
        """
        tier = self._tier()
        place = self._place
        unwalled = place.unwalled
        if tier.name == "none" and not unwalled:
            unwalled = self._peer.call(ConsentUnwalled(), timeout=None, cancel=cancel)
            if not unwalled:
                raise WallError("Commands cannot be confined on this machine, so none is run.", hint=tier.hint)
        return tier, Command(
            text=text,
            cwd=cwd,
            writable=(Path(place.worktree), Path(place.workspace)),
            readable=tuple(Path(path) for path in place.readable),
            git_dirs=tuple(Path(path) for path in place.git_dirs),
            links=((WORKSPACE, place.workspace),),
            toolchains=self._toolchains,
            network=place.network,
            unwalled=unwalled,
        )

    def workspace(self) -> str:
        """The name commands have for the workspace: that of the file tools where the walls make a view, else the real one."""
        return WORKSPACE if self._tier().name == "bubblewrap" else self._place.workspace

    def run(self, command: CommandRun, on_output: Callable[[str], None], cancel: threading.Event) -> dict[str, Any]:
        """Run one command. Raises WallError when there are no walls and no consent."""
        tier, confined = self.confined(command.text, command.cwd, cancel)
        command.spill.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        result = Runner(tier, self.helpers).run(
            msgspec.structs.replace(
                confined, timeout_ms=command.timeout_ms, output_bytes=OUTPUT_BYTES, spill=command.spill
            ),
            on_output,
            cancel,
        )
        spilled = f"/spill/{command.spill.name}" if result.spill else ""
        answer: dict[str, Any] = {
            "exit": result.exit_code,
            "signal": result.signal,
            "output": result.output,
            "truncated": result.truncated,
            "timed_out": result.timed_out,
            "cancelled": result.cancelled,
            "spill": spilled,
            "duration_ms": result.duration_ms,
        }
        if result.truncated:
            answer["total_bytes"] = result.total_bytes
        notes = list(result.notes)
        if not self._place.network and result.exit_code and NO_NETWORK.search(result.output):
            notes.append("The network is off in this conversation. A person can switch it on for it: /network.")
        if notes:
            answer["notes"] = notes
        return answer

    def reading(self, base: Path, program: list[str]) -> list[str]:
        """The command line that runs `program` with nothing but `base` to read, as far as this machine has walls."""
        return reading.argv(self._tier(), base, program)

    def _tier(self) -> Tier:
        if os.environ.get(NO_WALLS) == "none":
            return Tier(name="none", sentence="The walls were switched off.", hint=f"Unset {NO_WALLS}.")
        return probe(os.environ.get("PATH", ""), (Path(self._place.worktree), Path(self._place.workspace)))

    @cached_property
    def _toolchains(self) -> Toolchains:
        """The person's own compilers and interpreters, found on PATH; never their state, configuration or caches."""
        hidden = (state_home(), cache_home(), user_config_file().parent)
        # A virtual environment the worktree has a link to works only with the interpreter it was made from.
        linked = [f"{path}/bin" for path in self._place.readable if Path(path, "pyvenv.cfg").is_file()]
        search_path = ":".join([os.environ.get("PATH", ""), *linked])
        return find(search_path, Path(os.environ.get("HOME", "/")), hidden)
