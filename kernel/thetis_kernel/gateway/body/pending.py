"""What a conversation's own guest was last brought up to, kept beside the guests in the body's checkout.

While a merge is being mended this is only pending: it counts once the guest passes the gate without marks, and is dropped
when the guest is rolled back. So what was merged and what that was taken from are always of one commit, also when somebody goes
back to an earlier one: else the next merge would take back in silence what others had merged meanwhile.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from thetis_kernel.gateway.body import files
from thetis_kernel.gateway.body.common import BASE_TREE
from thetis_kernel.gateway.body.repository import SHIPPED_TREE, BodyRepository

_PENDING = ".pending"
_MARKS = ("<<<<<<< ", ">>>>>>> ")


def keep(worktree: Path, directory: str, shipped: dict[str, str] | None, base: dict[str, str] | None) -> None:
    """From now on a merge of these is pending; None leaves what is known as it is."""
    drop(worktree, directory)
    for tree, held in ((SHIPPED_TREE, shipped), (BASE_TREE, base)):
        if held is not None:
            files.replace_guest(worktree / _PENDING / tree / directory, held)
            (worktree / _PENDING / tree / directory).mkdir(parents=True, exist_ok=True)


def drop(worktree: Path, directory: str) -> None:
    """No merge is pending any more."""
    for tree in (SHIPPED_TREE, BASE_TREE):
        shutil.rmtree(worktree / _PENDING / tree / directory, ignore_errors=True)


async def back_to(repository: BodyRepository, worktree: Path, directory: str, commit: str) -> None:
    """The guest goes back to what it was in `commit` ("" = none of the conversation's own): so does what it had been brought up
    to. Raises RepoError."""
    await asyncio.to_thread(drop, worktree, directory)
    if repository.in_project:
        return
    for tree in (SHIPPED_TREE, BASE_TREE):
        held = await repository.files(commit, f"{tree}/{directory}") if commit else {}
        await asyncio.to_thread(files.replace_guest, worktree / tree / directory, held)


def settle(worktree: Path, directory: str) -> None:
    """The merge is done: what was pending is known."""
    for tree in (SHIPPED_TREE, BASE_TREE):
        held = worktree / _PENDING / tree / directory
        if held.is_dir():
            files.replace_guest(worktree / tree / directory, files.texts(held))
    drop(worktree, directory)


def is_open(worktree: Path, directory: str) -> bool:
    """Whether a merge of this guest is pending."""
    return any((worktree / _PENDING / tree / directory).is_dir() for tree in (SHIPPED_TREE, BASE_TREE))


def marks(guest: Path) -> list[tuple[str, int]]:
    """(path, line) of every mark of a conflict that is left in a guest's files."""
    return [(path, number) for path, text in files.texts(guest).items()
            for number, line in enumerate(text.split("\n"), 1) if line.startswith(_MARKS)]


def known(worktree: Path, tree: str, directory: str) -> dict[str, str] | None:
    """What the guest was last brought up to; None when that was never written down."""
    held = worktree / tree / directory
    return files.texts(held) if held.is_dir() else None
