"""The git host asked about the branches of one root's conversations, and what the log knows of them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from thetis_kernel.errors import RepoError
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.log import Log
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.known import Known
from thetis_kernel.protocol.wire import Ask

R = TypeVar("R")
SECONDS = 300.0
"""For one request: a merge of a large repository writes many files, and it must not be reported failed although it landed."""


class Git:
    """`root` as the git host is told it."""

    def __init__(self, fleet: Fleet, log: Log, paths: RootPaths) -> None:
        self._fleet = fleet
        self.log = log
        self.root = str(paths.root)
        self.worktrees: Path = paths.worktrees

    @property
    def known(self) -> Known:
        """What must not get into a commit."""
        return self.log.scrubber.known

    async def ask(self, ask: Ask[R]) -> R:
        """The git host's answer. Raises RepoError (as RemoteError)."""
        host = await self._fleet.git()
        return await host.peer.call(ask, timeout=SECONDS)

    async def trunk(self, session: str) -> str:
        """The branch that was checked out when the conversation began, "" for none. Raises RepoError without a branch."""
        state = await self.log.state(session)
        if state.materialised is None:
            raise RepoError("This conversation has no branch yet.", kind="no-branch", hint="It gets one with its first words.")
        return str(state.materialised.data.get("trunk", ""))
