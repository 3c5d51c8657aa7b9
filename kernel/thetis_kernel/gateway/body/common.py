"""The common guests of a root: what conversations were merged into, and what later ones begin with.

They lie on a branch of their own in the repository of bodies. Each commit there is whole: the guests, what they were
made from (`.shipped`), and which revision each is. Only what passed the gate is ever committed.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import RepoError, ThetisError
from thetis_kernel.gateway.body import files
from thetis_kernel.gateway.body.layout import directory_of
from thetis_kernel.gateway.body.repository import SHIPPED_TREE, BodyRepository

COMMON = "common"
"""Stands where a conversation's id does; no id begins like this."""
BASE_TREE = ".base"
"""The same for the common guest a conversation's own was last brought up to."""
_INDEX = ".common"
_FILE = "guests.json"


class Upstream(msgspec.Struct, frozen=True):
    """A common guest: its revision, its files, and the shipped ones it was made from."""

    revision: str
    files: dict[str, str]
    shipped: dict[str, str]


class Common:
    """The branch. `lock`: whoever changes it holds that."""

    def __init__(self, repository: BodyRepository) -> None:
        self._repository = repository
        self.lock = asyncio.Lock()
        self._tip: str | None = None
        self._clean = False

    async def tip(self) -> str:
        """Its newest commit, "" when nothing was merged yet."""
        if self._tip is None:
            try:
                self._tip = await self._repository.tip(COMMON)
            except ThetisError as error:
                if not isinstance(error, RepoError) and error.code != "repo":
                    raise
                self._tip = ""
        return self._tip

    async def revisions(self) -> dict[str, str]:
        """Aspect -> revision of every common guest."""
        tip = await self.tip()
        found = (await self._repository.files(tip, _INDEX)).get(_FILE, "{}") if tip else "{}"
        return msgspec.json.decode(found, type=dict[str, str])

    async def guest(self, aspect: str) -> Upstream | None:
        """One of them, None when that guest is not among them."""
        revision = (await self.revisions()).get(aspect)
        if revision is None:
            return None
        tip, directory = await self.tip(), directory_of(aspect)
        return Upstream(revision, await self._repository.files(tip, directory),
                        await self._repository.files(tip, f"{SHIPPED_TREE}/{directory}"))

    async def put(self, changed: dict[str, Upstream], message: str) -> str:
        """Commit these guests, all or none of them; the commit. Under `lock`."""
        worktree = await self._repository.ensure(COMMON, "")
        if not self._clean:
            await self._restore(worktree)
        self._clean = False  # until the commit
        revisions = {**await self.revisions(), **{aspect: one.revision for aspect, one in changed.items()}}

        def write() -> None:
            for aspect, one in changed.items():
                files.replace_guest(worktree / directory_of(aspect), one.files)
                files.replace_guest(worktree / SHIPPED_TREE / directory_of(aspect), one.shipped)
            (worktree / _INDEX).mkdir(exist_ok=True)
            (worktree / _INDEX / _FILE).write_bytes(msgspec.json.format(msgspec.json.encode(revisions, order="sorted"), indent=1))

        await asyncio.to_thread(write)
        crash.point("guests.written")
        self._tip = await self._repository.commit(COMMON, message)
        self._clean = True
        crash.point("guests.merged")
        return self._tip

    async def _restore(self, worktree: Path) -> None:
        """The checkout as its branch has it: a kill may have left half of what was never committed."""
        tip = await self.tip()
        trees = ("aspects", "tools", SHIPPED_TREE, _INDEX)
        found = {tree: await self._repository.files(tip, tree) if tip else {} for tree in trees}

        def write() -> None:
            for tree, held in found.items():
                shutil.rmtree(worktree / tree, ignore_errors=True)
                for path, text in held.items():
                    (worktree / tree / path).parent.mkdir(parents=True, exist_ok=True)
                    (worktree / tree / path).write_text(text, "utf-8")

        await asyncio.to_thread(write)
