"""The body's git repository: made by hand at first use, a branch and a worktree a conversation, a commit a change.

Everything else about it is the git host's, which treats it like any root. It is never the person's repository: its `.git`
is written here before anything looks for one, so that no repository above the state directory can be taken for it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypeVar

from thetis_kernel.errors import RepoError
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.gateway.body import files
from thetis_kernel.gateway.body.layout import directory_of
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol import git
from thetis_kernel.protocol.branches import MergedFiles, MergeFiles
from thetis_kernel.protocol.ids import branch_name, short
from thetis_kernel.protocol.wire import Ask

R = TypeVar("R")
SHIPPED_TREE = ".shipped"
"""Below it, at a guest's directory, the shipped guest that one was last brought up to."""
SECONDS = 60.0
AUTHOR = "Thetis <thetis@localhost>"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"


class BodyRepository:
    """Asks the git host about the body of one root."""

    def __init__(self, fleet: Fleet, paths: RootPaths) -> None:
        self._fleet = fleet
        self._root = paths.body
        self._worktrees = paths.bodies
        self._ready = asyncio.Lock()
        self._there: set[str] = set()

    @property
    def directory(self) -> Path:
        """Where the checkouts lie."""
        return self._worktrees

    in_project = False
    """Whether the guests lie in the project's own tree."""

    def original(self, aspect: str) -> Path | None:
        """The guest a conversation has without one of its own, None when there is none."""
        return shipped_guests().get(aspect)

    def begin(self, worktree: Path, aspect: str, original: Path) -> None:
        """Copy the guest it is made from into the checkout, and beside it what it was made from."""
        files.copy_guest(original, worktree / directory_of(aspect))
        files.replace_guest(worktree / SHIPPED_TREE / directory_of(aspect), files.texts(original))

    def give_up(self, guest: Path, aspect: str) -> None:
        """The conversation has none of its own any more."""
        files.remove_guest(guest)

    def worktree(self, session: str) -> Path:
        """Where the conversation's own guests lie, once they do."""
        return self._worktrees / f"conv-{short(session)}"

    async def ensure(self, session: str, base: str) -> Path:
        """The worktree, made if it is not there; a branch that is not there begins at commit `base`, "" = the trunk."""
        worktree = self.worktree(session)
        if session not in self._there:
            async with self._ready:
                await self._make()
                await self._ask(git.Materialise(root=str(self._root), branch=branch_name(session), worktree=str(worktree),
                                                base=base, recorded=worktree.is_dir(), quiet=True))
                self._there.add(session)
        return worktree

    async def commit(self, session: str, message: str) -> str:
        """Commit what changed; the branch's tip afterwards."""
        done = await self._ask(git.CommitTurn(root=str(self._root), branch=branch_name(session), message=message, author=AUTHOR))
        return done.tip

    async def files(self, commit: str, directory: str) -> dict[str, str]:
        """The guest's files in a commit, {} when it is not there."""
        return await self._ask(git.ReadFiles(root=str(self._root), commit=commit, directory=directory))

    async def tip(self, session: str) -> str:
        """The newest commit of a branch. Raises RepoError (as RemoteError) when there is no such branch, or no repository yet."""
        if not (self._root / ".git" / "HEAD").is_file():
            raise RepoError("There is no repository of guests yet.", kind="unknown-commit")
        found = await self._ask(git.Log(root=str(self._root), branch=branch_name(session), limit=1))
        return found.commits[0].id

    async def merged(self, base: dict[str, str], ours: dict[str, str], theirs: dict[str, str],
                     names: tuple[str, str]) -> MergedFiles:
        """Two sets of a guest's files over a third; `names` of both stand in the marks of a conflict."""
        return await self._ask(MergeFiles(root=str(self._root), base=base, ours=ours, theirs=theirs, names=names))

    async def _make(self) -> None:
        await asyncio.to_thread(_skeleton, self._root)
        info = await self._ask(git.InspectRoot(path=str(self._root)))
        if info.offer == "first-commit":
            info = await self._ask(git.AcceptOffer(path=str(self._root), offer="first-commit"))
        if not info.usable:
            raise RepoError(f"The repository of guests cannot be used: {info.sentence}", kind=info.kind, hint=info.hint)

    async def _ask(self, ask: Ask[R]) -> R:
        host = await self._fleet.git()
        return await host.peer.call(ask, timeout=SECONDS)


def _skeleton(root: Path) -> None:
    """What makes a directory a git repository without a commit; HEAD last, because it is what makes it one."""
    directory = root / ".git"
    if (directory / "HEAD").is_file():
        return
    for part in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (directory / part).mkdir(parents=True, exist_ok=True, mode=0o700)
    (directory / "config").write_text(_CONFIG)
    (directory / "HEAD").write_text("ref: refs/heads/main\n")
