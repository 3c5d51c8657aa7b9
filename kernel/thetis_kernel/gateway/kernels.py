"""Branch kernels: a conversation's worker run by the kernel of its own branch, in a trusted checkout of Thetis.

Only after a person approved exactly that tree; any change of it waits for them again. It is tried first (a process that says
hello in the protocol of this gateway), and one that dies twice soon after its start is abandoned: the worker runs on the
kernel that runs here, and the log says so. Its channel gives it nothing but its own conversation, like any worker's.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from thetis_kernel.errors import ChildError, ThetisError, UsageError
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.gateway.trust import TrustBook
from thetis_kernel.paths import builtin_root, state_home
from thetis_kernel.protocol.events import Incident
from thetis_kernel.protocol.git import Diff
from thetis_kernel.protocol.ids import branch_name
from thetis_kernel.protocol.kernels import Export, KernelState, TreeOf

KERNEL = "kernel/thetis_kernel"
BORROWED = ("wit", "guest")
"""What a kernel looks for beside itself is the running one's: contract and runtimes are a person's to change."""
EARLY_S = 20.0
MAX_EARLY = 2
"""features.md 2.1: two deaths under 20 s of life, and the branch kernel is abandoned first."""
NO = "Only in a trusted checkout of Thetis does a branch bring a kernel that could run."


class Kernels:
    """`enabled`: body and project are one here. `probe(directory)`: starts a worker with that kernel and ends it again, raising
    ChildError when it does not say hello. `restart(session)`: ends the conversation's worker."""

    def __init__(self, git: Git, directory: Path, enabled: bool, probe: Callable[[Path], Awaitable[None]],
                 restart: Callable[[str], Awaitable[None]], clock: Callable[[], float] = time.monotonic) -> None:
        self._git = git
        self._directory = directory
        self._enabled = enabled
        self._probe = probe
        self._restart = restart
        self._clock = clock
        self._book = TrustBook(state_home() / "kernels.json")
        self._tried: set[str] = set()
        self._started: dict[str, tuple[str, float]] = {}
        self._early: dict[tuple[str, str], int] = {}
        self._abandoned: dict[tuple[str, str], str] = {}

    async def state(self, session: str) -> KernelState:
        """See `protocol.kernels.LookAtKernel`."""
        if not self._enabled:
            return KernelState("off", why=NO)
        tree, own = await self._trees(session)
        if not tree or tree == own:
            return KernelState("same", tree=tree)
        trunk = await self._git.trunk(session)
        found = await self._git.ask(Diff(root=self._git.root, branch=branch_name(session), trunk=trunk, max_bytes=1))
        changed = [each for each in found.files if each.path.startswith("kernel/")]
        if (session, tree) in self._abandoned:
            return KernelState("abandoned", tree, self._abandoned[session, tree], changed)
        return KernelState("approved" if self._book.holds(self._key(session), tree) else "waiting", tree, "", changed)

    async def approve(self, session: str, tree: str) -> KernelState:
        """See `protocol.kernels.ApproveKernel`. Raises UsageError for a tree that is not the branch's now."""
        if not tree:
            self._book.revoke(self._key(session))
        elif not self._enabled or (await self._trees(session))[0] != tree:
            raise UsageError("The branch has another kernel than the one that was shown." if self._enabled else NO, code="moved",
                             hint="Look at it again.")
        else:
            self._book.add(self._key(session), tree, "kernel")
            self._abandoned.pop((session, tree), None)
            self._early.pop((session, tree), None)
        await self._restart(session)
        return await self.state(session)

    async def for_worker(self, session: str) -> Path | None:
        """Where the kernel of the conversation's next worker lies; None for the one that runs here. Never raises."""
        try:
            found = await self.state(session)
            if found.how != "approved":
                return None
            await self._git.ask(Export(
                root=self._git.root, commit=branch_name(session), directory=KERNEL, into=str(self._directory)))
            where = self._directory / found.tree
            await asyncio.to_thread(_borrow, where)
            if found.tree not in self._tried:
                await self._probe(where / "kernel")
                self._tried.add(found.tree)
        except ChildError as error:
            await self._abandon(session, found.tree, f"it does not start: {error.message}")
            return None
        except ThetisError:
            return None  # the conversation has no branch yet, or git cannot say: then nobody approved anything
        self._started[session] = (found.tree, self._clock())
        return where / "kernel"

    def died(self, session: str, words: str) -> Awaitable[None] | None:
        """The conversation's worker ended without being asked to. It counts at once, before another is started; what is to be
        told is in the awaitable."""
        tree, since = self._started.pop(session, ("", 0.0))
        if not tree or self._clock() - since > EARLY_S:
            return None
        self._early[session, tree] = self._early.get((session, tree), 0) + 1
        if self._early[session, tree] < MAX_EARLY:
            return None
        return self._abandon(session, tree, f"it died {MAX_EARLY} times soon after its start ({words})")

    def _abandon(self, session: str, tree: str, why: str) -> Awaitable[None]:
        """From now on the kernel that runs here serves; the awaitable says so in the log."""
        self._abandoned[session, tree] = why

        async def tell() -> None:
            await self._git.log.append(session, Incident(
                code="branch-kernel-abandoned", data={"tree": tree},
                message=f"The kernel of this branch is not used: {why}. The one that runs here serves."))

        return tell()

    async def _trees(self, session: str) -> tuple[str, str]:
        """The kernel trees of the branch and of its trunk."""
        trunk = await self._git.trunk(session)
        trees = [await self._git.ask(TreeOf(root=self._git.root, commit=name, directory=KERNEL))
                 for name in (branch_name(session), trunk)]
        return trees[0], trees[1]

    def _key(self, session: str) -> str:
        return f"{self._git.root}#{branch_name(session)}"


def _borrow(where: Path) -> None:
    """Put beside an exported kernel what it looks for there."""
    for name in BORROWED:
        if not (where / name).is_dir():
            shutil.copytree(builtin_root() / name, where / name, ignore=shutil.ignore_patterns("__pycache__"))
