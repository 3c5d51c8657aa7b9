"""Worktrees, commits and counts through a real git host, beside the git CLI in the same run. `python -m bench.git`"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import git
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from bench.report import emit
from tests.support.repos import Repo, make_large

FIGURES = [
    "git_host_spawn_s", "inspect_root_5k_ms", "inspect_root_50k_ms", "count_changes_5k_ms", "count_changes_50k_ms",
    "worktree_5k_ms", "worktree_50k_ms", "worktree_progress_gap_50k_ms", "worktree_cancel_50k_ms",
    "ui_stall_during_worktree_50k_ms", "commit_5k_ms", "commit_50k_ms", "commit_nothing_5k_ms", "commit_nothing_50k_ms",
    "commit_500_new_files_ms",
]  # fmt: skip
TICK = 0.002


class Watched:
    """What the gateway's loop and the progress notices look like while something runs."""

    def __init__(self) -> None:
        self.told: list[float] = []
        self.stalls: list[float] = []

    def heard(self, tell: git.GitProgress) -> None:
        self.told.append(time.perf_counter())

    async def tick(self) -> None:
        """The longest the loop keeps a timer waiting."""
        while True:
            due = time.perf_counter() + TICK
            await asyncio.sleep(TICK)
            self.stalls.append(time.perf_counter() - due)


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000


def report(name: str, times: list[float], against: str | None = None) -> None:
    p95 = sorted(times)[int(len(times) * 0.95)] if len(times) >= 10 else None
    emit(name, statistics.median(times), "ms", len(times), p95, against)


def by_cli(repo: Repo, *commands: tuple[str, ...]) -> float:
    """Milliseconds the git CLI takes for the same."""
    started = time.perf_counter()
    for command in commands:
        repo.git(*command)
    return (time.perf_counter() - started) * 1000


async def size(child: Child, watched: Watched, base: Path, label: str, files: int, rounds: int) -> None:
    root = make_large(base / f"r{label}", files)
    root.git("gc", "-q")
    text, call = str(root.path), child.peer.call
    report(f"inspect_root_{label}_ms", [await timed(lambda: call(git.InspectRoot(text))) for _ in range(10)], "whatever its size")
    report(f"count_changes_{label}_ms", [await timed(lambda: call(git.CountChanges(text))) for _ in range(5)])
    ours, cli = [], []
    for number in range(rounds):
        branch, where = f"conv/{label}-{number}", base / f"wt{label}-{number}"
        watched.told.clear()
        watched.stalls.clear()
        ticking = asyncio.ensure_future(watched.tick())
        make = git.Materialise(root=text, branch=branch, worktree=str(where))
        ours.append(await timed(lambda ask=make: call(ask, timeout=None)))  # type: ignore[misc]
        ticking.cancel()
        cli.append(by_cli(root, ("worktree", "add", "-q", "-b", f"cli-{number}", str(base / f"cli{label}-{number}"))))
    report(f"worktree_{label}_ms", ours, f"git worktree add, unsynced: {statistics.median(cli):.0f} ms")
    if label == "50k":
        gaps = [(after - before) * 1000 for before, after in zip(watched.told, watched.told[1:], strict=False)]
        emit(f"worktree_progress_gap_{label}_ms", max(gaps), "ms", len(gaps), None, "<= 200; the longest of all")
        emit(f"ui_stall_during_worktree_{label}_ms", max(watched.stalls) * 1000, "ms", len(watched.stalls), None,
             "<= 50; the longest wait of a timer on the gateway's loop")  # fmt: skip
        await cancel(child, watched, root, base)
    await commits(child, root, base, label)


async def cancel(child: Child, watched: Watched, root: Repo, base: Path) -> None:
    """From taking the request back to the moment the worktree's lock is free again."""
    watched.told.clear()
    making = asyncio.ensure_future(
        child.peer.call(git.Materialise(root=str(root.path), branch="conv/gone", worktree=str(base / "gone")), timeout=None)
    )
    while len(watched.told) < 8:
        await asyncio.sleep(0.01)
    started = time.perf_counter()
    making.cancel()
    try:
        await child.peer.call(git.CommitTurn(root=str(root.path), branch="conv/gone", message="x"))
    except RemoteError:
        emit("worktree_cancel_50k_ms", (time.perf_counter() - started) * 1000, "ms", 1, None, "<= 1000")


async def commits(child: Child, root: Repo, base: Path, label: str) -> None:
    branch, tree = f"conv/{label}-0", Repo(base / f"wt{label}-0", root.home)
    by_hand = Repo(base / f"cli{label}-0", root.home)
    commit = git.CommitTurn(root=str(root.path), branch=branch, message="turn")
    ours, cli, idle = [], [], []
    for number in range(12):
        for repo in (tree, by_hand):
            for which in range(5):
                repo.write(f"d{which:02}/s00/f{which}.txt", f"turn {number} of {which}\n")
            repo.write(f"new/{number}.txt", "new\n")
        ours.append(await timed(lambda: child.peer.call(commit)))
        idle.append(await timed(lambda: child.peer.call(commit)))
        cli.append(by_cli(by_hand, ("add", "-A"), ("commit", "-q", "-m", "turn")))
    report(f"commit_{label}_ms", ours, f"six files; git add -A and commit, unsynced: {statistics.median(cli):.0f} ms")
    report(f"commit_nothing_{label}_ms", idle, "nothing has changed")
    if label == "5k":
        for number in range(500):
            tree.write(f"many/{number}.txt", f"{number}\n" * 20)
        emit("commit_500_new_files_ms", await timed(lambda: child.peer.call(commit)), "ms", 1, None, "synced together")


async def main() -> None:
    watched = Watched()
    started = time.perf_counter()
    child = await spawn(Plan("git", tells={git.GitProgress: watched.heard}))
    emit("git_host_spawn_s", time.perf_counter() - started, "s", 1, None, "pygit2 alone is 0.2")
    base = Path(tempfile.mkdtemp(prefix="thetis-bench-git-"))
    try:
        await size(child, watched, base, "5k", 5_000, 3)
        await size(child, watched, base, "50k", 50_000, 1)
    finally:
        child.kill()
        await child.wait()
        shutil.rmtree(base)


if __name__ == "__main__":
    asyncio.run(main())
