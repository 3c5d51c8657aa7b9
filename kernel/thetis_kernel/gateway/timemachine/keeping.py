"""A snapshot of the files before each effect that can change them.

It must not cost the conversation what it does not need: the first of a turn is always taken, a later one only when looking
at the worktree is cheap beside the time since. A snapshot that cannot be taken is told once and stops no call.
"""

from __future__ import annotations

import asyncio
import time

from thetis_kernel.errors import StoreError, ThetisError
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.protocol.events import SystemNote, ToolInvocation
from thetis_kernel.protocol.ids import branch_name
from thetis_kernel.protocol.snapshots import Snapshot, TakeSnapshot

CHANGES_FILES = ("files.", "terminal.", "terminals.", "tool:", "branch.")
"""Beginnings of the operations that can change the worktree."""
CHEAP_S = 0.05
"""A look that took less is made before every effect."""
SHARE = 20
"""A longer one only after this many times its duration, so that looking takes at most 5% of a turn."""
REMEMBERED = 64
"""Turns of one conversation and its sub-agents that may be under way at once, and more."""
PATIENCE_S = 60.0
"""What a call waits for its snapshot at most; the first look at a large worktree reads every file."""


class Keeping:
    """`before` is called with each logged intention; what it knows of a worktree is forgotten with the process."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._turns: dict[str, list[str]] = {}
        """Conversation -> the newest turns whose first effect was seen: its own and those of sub-agents, in any mixture."""
        self._taken: dict[str, tuple[float, float]] = {}
        """Conversation -> (when the last look ended, how long it took), in seconds."""
        self._told: set[str] = set()
        self._locks: dict[str, asyncio.Lock] = {}

    async def before(self, home: str, member: str, seq: int, intent: ToolInvocation) -> None:
        """Keep the files of `home` before `intent`, which stands at `seq` in the log of `member`, begins."""
        if not intent.mutating or not intent.op.startswith(CHANGES_FILES):
            return
        async with self._locks.setdefault(home, asyncio.Lock()):
            ended, took = self._taken.get(home, (0.0, 0.0))
            turns = self._turns.setdefault(home, [])
            first = intent.turn not in turns
            if not first and took > CHEAP_S and time.monotonic() - ended < SHARE * took:
                return
            if first:
                turns[:] = [*turns[1 - REMEMBERED :], intent.turn]
            started = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self.take(home, member, seq)
            except StoreError:
                raise
            except (ThetisError, TimeoutError) as error:
                await self._tell(home, error)
            self._taken[home] = (time.monotonic(), time.monotonic() - started)

    def forget(self, home: str) -> None:
        """The conversation was deleted."""
        for known in (self._turns, self._taken, self._locks):
            known.pop(home, None)
        self._told.discard(home)

    async def take(self, home: str, member: str, seq: int) -> Snapshot:
        """Keep the files as they are now. Raises RepoError."""
        return await self._git.ask(TakeSnapshot(
            root=self._git.root, branch=branch_name(home), session=member, seq=seq, known=self._git.known))

    async def _tell(self, home: str, error: Exception) -> None:
        if home in self._told:
            return
        self._told.add(home)
        why = error.message if isinstance(error, ThetisError) else f"looking at them took over {PATIENCE_S:.0f} s"
        await self._git.log.append(home, SystemNote(
            text=f"The files before this turn's changes could not be kept ({why.rstrip('.')}): "
                 "going back to before them brings the conversation back, not the files.", about="snapshot"))
