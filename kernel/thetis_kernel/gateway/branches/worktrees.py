"""The worktrees of a root's conversations: how large, how old, how dirty, who works there; and removing what nobody needs.

Only worktrees Thetis made are ever listed, one goes only when all that is in it is committed and reached from elsewhere,
and its branch stays in any case.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.protocol import git
from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.ids import branch_name
from thetis_kernel.protocol.merging import WorktreeLine


class Worktrees:
    """`running(session)`: whether a turn of it is."""

    def __init__(self, git_host: Git, running: Callable[[str], bool]) -> None:
        self._git = git_host
        self._running = running
        self._held: dict[str, int] = {}

    async def hold(self, session: str, pid: int) -> None:
        """Note in the worktree that its worker is at work there, so that neither we nor git take it away under its feet."""
        if self._held.get(session) == pid:
            return
        try:
            await self._git.ask(git.HoldWorktree(root=self._git.root, branch=branch_name(session), pid=pid))
        except ThetisError:
            return  # there is no worktree yet, or a person has locked it; the next turn asks again
        self._held[session] = pid

    async def all(self, conversations: list[Conversation]) -> list[WorktreeLine]:
        """One line each, the one used longest ago first."""
        known = {branch_name(each.id): each for each in conversations}
        found = await self._git.ask(git.ListWorktrees(root=self._git.root, details=True))
        lines = [self._line(each, known.get(each.branch)) for each in found]
        return sorted(lines, key=lambda line: (line.used_ms, line.branch))

    async def prune(self, conversations: list[Conversation], only: set[str] | None = None) -> list[WorktreeLine]:
        """Remove the prunable ones, of the conversations `only` where that is given; those that went. One that became busy or
        dirty meanwhile stays. `conversations` are all there are: a worktree of none of them is an orphan."""
        gone = []
        for line in await self.all(conversations):
            if only is not None and line.session not in only:
                continue
            if line.prunable and not self._running(line.session):
                try:
                    await self._git.ask(git.RemoveWorktree(root=self._git.root, branch=line.branch))
                except ThetisError:
                    continue  # held or written to since it was looked at
                gone.append(line)
        return gone

    def _line(self, tree: git.Worktree, conversation: Conversation | None) -> WorktreeLine:
        line = WorktreeLine(
            branch=tree.branch, path=tree.path, state=tree.state, session=conversation.id if conversation else "",
            title=(conversation.title or conversation.preview) if conversation else "",
            used_ms=conversation.updated_ms if conversation else 0, dirty=tree.dirty, bytes=tree.bytes, reached=tree.reached,
            held_by=tree.held_by)
        why = self._why_not(line)
        return msgspec.structs.replace(line, prunable=not why, why=why)

    def _why_not(self, line: WorktreeLine) -> str:
        """Why it stays, as a clause; "" when it may go."""
        if line.session and self._running(line.session):
            return "a turn is running in it"
        if line.held_by:
            return f"process {line.held_by} works in it"
        if line.dirty > 0:
            return "it has uncommitted files"
        if line.state == "ready" and line.dirty < 0:
            return "its files cannot be compared"
        if not line.reached:
            return "its commits are on no other branch"
        return ""
