"""In a checkout of Thetis itself body and project are one: a conversation's guests are those of its own branch's tree.

Only where a person trusts the checkout, or Thetis runs from it. The worktree is the project's, a change of a guest is a commit
on the conversation's branch of it, and what guests are merged with is the project's own merge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.gateway.body import files
from thetis_kernel.gateway.body.layout import directory_of
from thetis_kernel.gateway.body.repository import BodyRepository
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.trust import TrustedTree
from thetis_kernel.paths import RootPaths, builtin_root
from thetis_kernel.protocol import git
from thetis_kernel.protocol.ids import branch_name, short
from thetis_kernel.protocol.known import Known
from thetis_kernel.protocol.worker import Place

if TYPE_CHECKING:
    from thetis_kernel.gateway.body.service import Bodies

MARKS = ("wit/thetis.wit", "aspects/agent_core/guest.toml", "kernel/thetis_kernel/__init__.py")
"""Files that make a checkout one of Thetis."""
WORDS = "As the branch has it"


def is_one(root: Path, tree: TrustedTree | None) -> bool:
    """Whether body and project are one here: a checkout of Thetis which is trusted, or which runs."""
    if not all((root / mark).is_file() for mark in MARKS):
        return False
    return root.resolve() == builtin_root().resolve() or (tree is not None and tree.unchanged())


class ProjectRepository(BodyRepository):
    """`place(session)`: makes sure of the conversation's worktree. `known()`: what must not get into a commit."""

    in_project = True

    def __init__(self, fleet: Fleet, paths: RootPaths, tree: TrustedTree | None,
                 place: Callable[[str], Awaitable[Place]], known: Callable[[], Known]) -> None:
        super().__init__(fleet, paths)
        self._root = paths.root
        self._worktrees = paths.worktrees
        self._guests = {**shipped_guests(), **(tree.directories if tree else {})}
        self._place = place
        self._known = known

    async def ensure(self, session: str, base: str) -> Path:
        """The conversation's worktree of the project. Raises RepoError."""
        return Path((await self._place(session)).worktree)

    async def commit(self, session: str, message: str) -> str:
        """Commit what changed in the worktree, the person being its author; the branch's tip afterwards."""
        ask = git.CommitTurn(root=str(self._root), branch=branch_name(session), message=message, known=self._known())
        return (await self._ask(ask)).tip

    def original(self, aspect: str) -> Path | None:
        """The guest of the root's checkout, else the shipped one."""
        return self._guests.get(aspect)

    def begin(self, worktree: Path, aspect: str, original: Path) -> None:
        """Copy a guest the branch does not have."""
        files.copy_guest(original, worktree / directory_of(aspect))

    def give_up(self, guest: Path, aspect: str) -> None:
        """The guest is the root's again, in the branch's tree too."""
        original = self.original(aspect)
        if original is None:
            files.remove_guest(guest)
        else:
            files.replace_guest(guest, files.texts(original))


class BranchGuests:
    """Takes what a conversation's branch has of guests for what it runs on: before each turn, and before it is merged."""

    def __init__(self, bodies: Bodies, tree: TrustedTree | None) -> None:
        self._bodies = bodies
        self._tree = tree

    async def look(self, session: str) -> None:
        """Judge the guests of the branch that are others than those that serve; what passes serves from now on."""
        if self._tree is None or await asyncio.to_thread(self._tree.unchanged):
            await self._bodies.by_hand(session, WORDS, "kernel")

    async def red(self, session: str) -> list[str]:
        """A sentence for each guest of the branch that does not pass the gate: with it, the branch is not merged."""
        told = []
        for verdict in await self._bodies.by_hand(session, WORDS, "kernel", again=True):
            if not verdict["ok"]:
                places = "; ".join(f"{one['path']}:{one['line']}: {one['message']}" for one in verdict["diagnostics"][:2])
                told.append(f"{verdict['aspect']} of conversation {short(session)} does not pass the gate: {places}")
        return told
