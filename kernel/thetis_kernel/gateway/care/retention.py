"""What conversations nobody wrote to for a while may give back, and giving it back.

Owns which conversations are open, and so keep everything, however old: one that runs, that waits for a person, that was cut
and can be gone on with, that has words in its queue, or that somebody has before them now. Nothing goes by itself; a person
asks for it. Branches stay in any case. Must not know how worktrees and logs are removed.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable

import msgspec

from thetis_kernel.errors import ThetisError, UsageError
from thetis_kernel.gateway.branches.worktrees import Worktrees
from thetis_kernel.gateway.care.checking import size_of
from thetis_kernel.gateway.conversations import Conversations
from thetis_kernel.gateway.log import Log
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.care import OldLine
from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.merging import WorktreeLine

DAY_MS = 86_400_000


class Retention:
    """`looked_at(session)`: whether a connected client has it open. `at_work(session)`: a turn of it, or of a sub-agent, runs.
    `forget(session)` removes a conversation whole."""

    def __init__(self, log: Log, conversations: Conversations, worktrees: Worktrees, paths: RootPaths,
                 looked_at: Callable[[str], bool], at_work: Callable[[str], bool],
                 forget: Callable[[str], Awaitable[None]]) -> None:
        self._log = log
        self._conversations = conversations
        self._worktrees = worktrees
        self._paths = paths
        self._looked_at = looked_at
        self._at_work = at_work
        self._forget = forget

    async def old(self, days: int) -> list[OldLine]:
        """The conversations and what each keeps, the oldest first. Raises UsageError for less than a day."""
        if days < 1:
            raise UsageError("A conversation is old after a day at the least.", hint="Give a number of days from 1 on.")
        before = int(time.time() * 1000) - days * DAY_MS
        lines = [line for line in await self._conversations.all() if line.updated_ms < before]
        trees = {tree.session: tree for tree in await self._trees()}
        return [await self._line(line, trees.get(line.id)) for line in sorted(lines, key=lambda line: line.updated_ms)]

    async def prune(self, days: int, logs: bool) -> list[OldLine]:
        """Remove what may go; what went. Each is looked at again right before it: somebody may have come back to it."""
        going = []
        for line in await self.old(days):
            try:
                now = await self._conversations.get(line.session)
                if line.why or await self._why(now) or now.updated_ms != line.updated_ms:
                    continue
                await asyncio.to_thread(shutil.rmtree, self._paths.spill / short(line.session), True)
                going.append(line)
            except ThetisError:
                continue  # deleted meanwhile
        trees = await self._prune_trees({line.session for line in going if line.worktree})
        if logs:
            for line in going:
                if line.log and not await self._why(await self._conversations.get(line.session)):
                    await self._forget(line.session)
        went = [msgspec.structs.replace(line, worktree=line.worktree if line.session in trees else 0, log=logs and line.log)
                for line in going]
        return [line for line in went if line.spill or line.worktree or line.log]

    async def _prune_trees(self, sessions: set[str]) -> set[str]:
        """Remove the worktrees of these; whose went."""
        if not sessions:
            return set()
        return {tree.session for tree in await self._worktrees.prune(await self._conversations.all(), sessions)}

    async def _trees(self) -> list[WorktreeLine]:
        try:
            return await self._worktrees.all(await self._conversations.all())
        except ThetisError:
            return []  # a root without a usable repository has none to give back

    async def _line(self, line: Conversation, tree: WorktreeLine | None) -> OldLine:
        spill = await asyncio.to_thread(size_of, self._paths.spill / short(line.id))
        worktree = max(tree.bytes, 0) if tree is not None and tree.prunable else 0
        return OldLine(session=line.id, title=line.title or line.preview, updated_ms=line.updated_ms, spill=spill,
                       worktree=worktree, log=line.archived, why=await self._why(line))

    async def _why(self, line: Conversation) -> str:
        """Why the conversation is open, as a clause; "" when it is not."""
        if self._at_work(line.id) or line.state == "running":
            return "a turn is running in it"
        state = await self._log.state(line.id)
        if state.approvals or state.questions:
            return "it waits for an answer"
        if state.state == "interrupted":
            return "it was cut and can be gone on with"
        if state.queue:
            return "words wait in its queue"
        if state.children:
            return "it has sub-agents"
        if self._looked_at(line.id):
            return "somebody has it open"
        return ""
