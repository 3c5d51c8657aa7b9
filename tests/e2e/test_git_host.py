"""The git host as a real process: a conversation's life through it, progress and cancel, and kills at any point."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from thetis_kernel.errors import PeerGone, RemoteError
from thetis_kernel.protocol import git
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.support.repos import Repo, make, make_large, root_state
from tests.support.waiting import until

BRANCH = "conv/ab12cd34"


@asynccontextmanager
async def host(progress: list[git.GitProgress] | None = None, crash: str = "") -> AsyncIterator[Child]:
    """A running git host that dies at the crash point `crash` ("NAME" or "NAME:N")."""
    heard = [] if progress is None else progress
    os.environ.pop("THETIS_CRASH", None)
    if crash:
        os.environ["THETIS_CRASH"] = crash
    try:
        child = await spawn(Plan("git", tells={git.GitProgress: heard.append}))
    finally:
        os.environ.pop("THETIS_CRASH", None)
    try:
        yield child
    finally:
        child.kill()
        await child.wait()


def wanted(root: Repo, where: Path, **more: bool) -> git.Materialise:
    return git.Materialise(root=str(root.path), branch=BRANCH, worktree=str(where), **more)


def turn(root: Repo, message: str = "turn") -> git.CommitTurn:
    return git.CommitTurn(root=str(root.path), branch=BRANCH, message=message)


def clean(where: Path, home: Path) -> bool:
    return Repo(where, home).git("status", "--porcelain") == ""


async def test_a_conversation_lives_through_the_host(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    root.write("a.txt", "edited\n")
    before, where, text = root_state(root.path), tmp_path / "wt", str(root.path)
    async with host() as child:
        call = child.peer.call
        info = await call(git.InspectRoot(text))
        assert (info.kind, info.trunk, info.head) == ("ok", "main", root.head)
        assert (await call(git.CountChanges(text))).paths == ["a.txt"]
        made = await call(wanted(root, where, with_changes=True))
        assert (made.made, made.included) == (True, 1)
        await call(git.HoldWorktree(text, BRANCH, os.getpid()))
        (where / "new.txt").write_text("new\n")
        committed = await call(turn(root, "Add new.txt"))
        assert [(each.status, each.path) for each in committed.changed] == [("A", "new.txt")]
        assert (await call(turn(root))).commit == ""
        assert {each.path for each in (await call(git.Diff(text, BRANCH))).files} == {"a.txt", "new.txt"}
        status = await call(git.BranchStatus(text, BRANCH))
        assert (status.tip, status.ahead, status.dirty) == (committed.commit, 2, 0)
        history = await call(git.Log(text, BRANCH, since=root.head))
        assert [each.subject for each in history.commits][:1] == ["Add new.txt"]
        listed = await call(git.ListWorktrees(text, details=True))
        assert [(each.branch, each.held_by, each.dirty) for each in listed] == [(BRANCH, os.getpid(), 0)]
        with pytest.raises(RemoteError) as error:
            await call(git.RemoveWorktree(text, BRANCH))
        assert (error.value.code, error.value.data["kind"]) == ("repo", "held")
        await call(git.ReleaseWorktree(text, BRANCH, os.getpid()))
        assert await call(git.SweepWorktrees(text)) == []
        assert (await call(git.RemoveWorktree(text, BRANCH))).tip == committed.commit
    assert root_state(root.path) == before


async def test_offers_and_refusals_cross_with_their_sentences(tmp_path: Path) -> None:
    place = tmp_path / "new"
    place.mkdir()
    async with host() as child:
        info = await child.peer.call(git.InspectRoot(str(place)))
        assert (info.kind, info.offer) == ("not-a-repository", "init")
        with pytest.raises(RemoteError) as error:
            await child.peer.call(git.Materialise(root=str(place), branch=BRANCH, worktree=str(tmp_path / "wt")))
        assert error.value.data["kind"] == "not-a-repository" and error.value.hint
        info = await child.peer.call(git.AcceptOffer(str(place), "init"))
        info = await child.peer.call(git.AcceptOffer(str(place), "first-commit"))
        assert (info.kind, info.trunk) == ("ok", Repo(place).git("symbolic-ref", "--short", "HEAD"))


async def test_requests_are_answered_while_a_worktree_is_made(tmp_path: Path) -> None:
    root = make_large(tmp_path / "r", 1500)
    progress: list[git.GitProgress] = []
    async with host(progress) as child:
        making = asyncio.ensure_future(child.peer.call(wanted(root, tmp_path / "wt"), timeout=None))
        await until(lambda: any(each.done > 0 for each in progress))
        await child.peer.call(git.InspectRoot(str(root.path)))
        assert not making.done()
        assert (await making).files == 1500
    checkout = [each for each in progress if each.phase == "checkout"]
    assert (checkout[0].done, checkout[-1].done, checkout[-1].total) == (0, 1500, 1500)
    assert {each.branch for each in progress} == {BRANCH}


async def _cancelled(root: Repo, where: Path, files: int) -> None:
    progress: list[git.GitProgress] = []
    async with host(progress) as child:
        making = asyncio.ensure_future(child.peer.call(wanted(root, where), timeout=None))
        await until(lambda: any(each.done > 0 for each in progress), within=30)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        # The record's lock is free again once the host has let go: a commit is refused at once, it need not wait.
        with pytest.raises(RemoteError) as error:
            await child.peer.call(turn(root), timeout=5)
        assert error.value.data["kind"] == "not-materialised"
        assert sum(len(names) for _, _, names in os.walk(where)) < files
        assert (await child.peer.call(wanted(root, where), timeout=None)).files == files
    assert clean(where, root.home)


async def test_a_withdrawn_checkout_stops_and_the_next_completes(tmp_path: Path) -> None:
    await _cancelled(make_large(tmp_path / "r", 2000), tmp_path / "wt", 2000)


@pytest.mark.slow
async def test_fifty_thousand_files_with_progress_and_cancel(tmp_path: Path) -> None:
    root = make_large(tmp_path / "r", 50_000)
    before = root_state(root.path)
    await _cancelled(root, tmp_path / "wt", 50_000)
    (tmp_path / "wt" / "new.txt").write_text("x\n")
    async with host() as child:
        assert (await child.peer.call(turn(root))).total == 1
        assert (await child.peer.call(git.CountChanges(str(root.path)))).count == 0
    assert root_state(root.path) == before


# Kills

@pytest.mark.parametrize("with_changes", [False, True])
@pytest.mark.parametrize("point", ["git-host.request", "checkout.before", "checkout.after"])
async def test_a_kill_at_a_crash_point_of_a_checkout_is_repaired(point: str, with_changes: bool, tmp_path: Path) -> None:
    root, where = make(tmp_path / "r"), tmp_path / "wt"
    root.write("a.txt", "edited\n")
    before = root_state(root.path)
    async with host(crash=point) as child:
        with pytest.raises(PeerGone):
            await child.peer.call(wanted(root, where, with_changes=with_changes))
    async with host() as child:
        made = await child.peer.call(wanted(root, where, with_changes=with_changes))
        assert made.made == (point != "checkout.after")
    assert clean(where, root.home) and root_state(root.path) == before
    assert (where / "a.txt").read_text() == ("edited\n" if with_changes else "one\n")
    assert root.git("rev-list", "--count", f"main..{BRANCH}") == str(int(with_changes))


@pytest.mark.parametrize("point", ["git-host.request:2", "commit.before", "commit.after"])
async def test_a_kill_at_a_crash_point_of_a_commit_loses_nothing_and_adds_nothing(point: str, tmp_path: Path) -> None:
    root, where = make(tmp_path / "r"), tmp_path / "wt"
    async with host(crash=point) as child:
        await child.peer.call(wanted(root, where))
        (where / "a.txt").write_text("turn 1\n")
        with pytest.raises(PeerGone):
            await child.peer.call(turn(root, "turn 1"))
    async with host() as child:
        assert not (await child.peer.call(wanted(root, where, recorded=True))).made
        answer = await child.peer.call(turn(root, "turn 1"))
        assert bool(answer.commit) == (point != "commit.after")
    assert root.git("log", "--format=%s", f"main..{BRANCH}") == "turn 1"
    assert root.show(f"{BRANCH}:a.txt") == b"turn 1\n" and clean(where, root.home)


async def _killed_checkouts(tmp_path: Path, files: int, rounds: int) -> None:
    """SIGKILL after a random time, each time on what the last kill left; then the next call must make it whole."""
    root, where = make_large(tmp_path / "r", files), tmp_path / "wt"
    root.write("d00/s00/f0.txt", "edited\n")
    root.write("untracked.txt", "x\n")
    before = root_state(root.path)
    loop, chance = asyncio.get_running_loop(), random.Random(7)
    async with host() as child:
        started = loop.time()
        await child.peer.call(wanted(root, tmp_path / "measure", with_changes=True))
        whole = loop.time() - started
        await child.peer.call(git.RemoveWorktree(str(root.path), BRANCH))
    root.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    finished = 0
    for _ in range(rounds):
        async with host() as child:
            making = asyncio.ensure_future(child.peer.call(wanted(root, where, with_changes=True), timeout=None))
            done, _ = await asyncio.wait([making], timeout=chance.uniform(0, whole * 1.1))
            child.kill()
            await child.wait()
            if done:
                finished += 1
            else:
                with pytest.raises(PeerGone):
                    await making
        if chance.random() < 0.4:  # else the next round begins with the half this one left
            async with host() as child:
                await child.peer.call(wanted(root, where, with_changes=True), timeout=None)
                assert clean(where, root.home)
                assert len(Repo(where, root.home).names("HEAD")) == files + 1
                await child.peer.call(git.RemoveWorktree(str(root.path), BRANCH))
            root.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    async with host() as child:
        await child.peer.call(wanted(root, where, with_changes=True), timeout=None)
    assert clean(where, root.home) and (where / "untracked.txt").read_text() == "x\n"
    assert root.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    assert root_state(root.path) == before and finished < rounds
    assert root.git("fsck", "--no-dangling", "--no-reflogs") == ""


async def test_kills_at_random_times_of_a_checkout(tmp_path: Path) -> None:
    await _killed_checkouts(tmp_path, 300, 4)


@pytest.mark.slow
async def test_many_kills_at_random_times_of_a_checkout(tmp_path: Path) -> None:
    await _killed_checkouts(tmp_path, 1500, 40)


async def _killed_commits(tmp_path: Path, rounds: int) -> None:
    """Each turn writes its number; whatever is killed, the branch holds every number once, in order."""
    root, where = make(tmp_path / "r"), tmp_path / "wt"
    chance = random.Random(11)
    async with host() as child:
        await child.peer.call(wanted(root, where))
    killed = 0
    for number in range(rounds):
        (where / "a.txt").write_text(f"{number}\n")
        (where / f"n{number}.txt").write_bytes(os.urandom(50_000))
        async with host() as child:
            committing = asyncio.ensure_future(child.peer.call(turn(root, f"turn {number}")))
            await asyncio.wait([committing], timeout=chance.uniform(0, 0.06) if number else 0)  # one surely dies
            killed += not committing.done()
            child.kill()
            await child.wait()
            await asyncio.gather(committing, return_exceptions=True)
        async with host() as child:
            await child.peer.call(turn(root, f"turn {number}"))
        assert clean(where, root.home)
    subjects = root.git("log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()
    assert subjects == [f"turn {number}" for number in range(rounds)] and killed
    assert root.git("fsck", "--no-dangling", "--no-reflogs") == ""


async def test_kills_at_random_times_of_commits(tmp_path: Path) -> None:
    await _killed_commits(tmp_path, 3)


@pytest.mark.slow
async def test_many_kills_at_random_times_of_commits(tmp_path: Path) -> None:
    await _killed_commits(tmp_path, 60)
