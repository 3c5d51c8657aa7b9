"""Branches under contention, and lock files of the living and the dead (reliability P7, P8)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pygit2
import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo import locks, refs
from thetis_kernel.repo.job import Job

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import Repo, drive, make
from tests.support.waiting import blocking_until


@pytest.fixture(autouse=True)
def short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WATCH", 0.2)


def _two_writers(tmp_path: Path, times: int) -> None:
    root = make(tmp_path / "r")
    root.git("branch", BRANCH)
    writers = [drive("advance-many", str(root.path), BRANCH, who, times, home=root.home) for who in ("ada", "bob")]
    claimed: list[str] = []
    for writer in writers:
        out, err = writer.communicate(timeout=100)
        assert writer.returncode == 0, err
        answer = json.loads(out)
        assert isinstance(answer, list), answer
        claimed += answer
    assert len(claimed) == 2 * times
    assert set(root.git("rev-list", f"main..{BRANCH}").split()) == set(claimed)
    assert len(root.names(BRANCH)) == 1 + 2 * times  # and each commit kept what the other had put there
    assert root.git("fsck") == ""


def test_two_processes_with_a_hundred_commits_each_lose_nothing(tmp_path: Path) -> None:
    _two_writers(tmp_path, 100)


@pytest.mark.slow
def test_two_processes_with_three_hundred_commits_each_lose_nothing(tmp_path: Path) -> None:
    _two_writers(tmp_path, 300)


def test_a_git_command_that_moves_the_branch_in_between_is_built_upon(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    root.git("branch", BRANCH)
    repository = pygit2.Repository(str(root.path))
    tree = root.rev("HEAD^{tree}")
    seen: list[str] = []

    def build(tip: pygit2.Oid) -> pygit2.Oid:
        seen.append(str(tip))
        if len(seen) < 3:  # somebody else is faster, twice
            root.git("update-ref", f"refs/heads/{BRANCH}", root.git("commit-tree", tree, "-p", str(tip), "-m", "theirs"))
        me = pygit2.Signature("T", "t@localhost")
        return repository.create_commit(None, me, me, "ours", pygit2.Oid(hex=tree), [tip])

    new = refs.advance(repository, BRANCH, build, "test", Job())
    assert len(seen) == 3 and root.rev(BRANCH) == str(new)
    assert root.git("log", "--format=%s", f"main..{BRANCH}").split() == ["ours", "theirs", "theirs"]


def test_a_branch_that_never_stands_still_is_given_up_and_not_overwritten(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    root.git("branch", BRANCH)
    repository = pygit2.Repository(str(root.path))
    tree = root.rev("HEAD^{tree}")

    def build(tip: pygit2.Oid) -> pygit2.Oid:
        root.git("update-ref", f"refs/heads/{BRANCH}", root.git("commit-tree", tree, "-p", str(tip), "-m", "theirs"))
        return repository.head.peel(pygit2.Commit).id

    with pytest.raises(RepoError) as error:
        refs.advance(repository, BRANCH, build, "test", Job())
    assert error.value.kind == "contended"
    assert root.git("rev-list", "--count", f"main..{BRANCH}") == str(refs.TRIES)


def test_a_symbolic_branch_is_not_written_through(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    root.git("symbolic-ref", f"refs/heads/{BRANCH}", "refs/heads/main")
    with pytest.raises(RepoError) as error:
        refs.advance(pygit2.Repository(str(root.path)), BRANCH, lambda tip: tip, "test", Job())
    assert error.value.kind == "no-branch"


# Locks

LOCKS = {
    "index.lock": lambda conversation: conversation.record / "index.lock",
    "ref lock": lambda conversation: conversation.root.path / ".git" / "refs" / "heads" / f"{BRANCH}.lock",
}

HOLD = "import os, sys, time; os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_RDWR); print('held', flush=True); time.sleep(60)"


def _holder(lock: Path) -> subprocess.Popen[str]:
    """A process that made `lock` and has it open, as git has."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("which", LOCKS)
def test_a_lock_of_a_dead_owner_is_removed_and_logged(
    which: str, conversation: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    lock = LOCKS[which](conversation)
    process = _holder(lock)
    process.kill()
    process.wait()
    assert lock.exists()
    assert conversation.commit().total == 1 and conversation.is_clean()
    assert not lock.exists() and str(lock) in caplog.text


@pytest.mark.parametrize("which", LOCKS)
def test_a_lock_of_a_living_owner_is_waited_for_and_never_removed(which: str, conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    lock = LOCKS[which](conversation)
    process = _holder(lock)
    try:
        with pytest.raises(RepoError) as error:
            conversation.commit(job=Job(patience=1.0))
        assert error.value.kind == "locked" and str(lock) in error.value.message
        assert lock.exists() and conversation.root.rev(BRANCH) == conversation.root.head
        answers: list[int] = []
        waiting = threading.Thread(target=lambda: answers.append(conversation.commit(job=Job(patience=20)).total))
        waiting.start()
        time.sleep(0.5)  # not a wait for anything: it must still be waiting after this
        assert answers == [] and lock.exists()
    finally:
        lock.unlink()  # as its owner does when it is done
        process.kill()
        process.wait()
    waiting.join()
    assert answers == [1]


def test_a_lock_counts_as_held_while_a_git_command_works_there(conversation: Conversation, tmp_path: Path) -> None:
    """`git commit` closes its lock while the editor is open: the descriptor says nothing then, the process does."""
    conversation.make()
    lock = conversation.record / "index.lock"
    lock.touch()
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {tmp_path}/open\nexec sleep 60\n")
    editor.chmod(0o755)
    tree = conversation.worktree
    process = subprocess.Popen(["git", "-C", str(tree.path), "-c", f"core.editor={editor}", "tag", "-a", "x"],
                               env={**os.environ, "HOME": str(tree.home)}, start_new_session=True)  # fmt: skip
    try:
        blocking_until((tmp_path / "open").exists)
        with pytest.raises(RepoError):
            conversation.commit(job=Job(patience=1.0))
        assert lock.exists()
    finally:
        os.killpg(process.pid, 9)
        process.wait()
    tree.write("a.txt", "two\n")
    assert conversation.commit().total == 1


def test_a_lock_that_changes_is_not_left_behind(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    lock.touch()
    stop = threading.Event()

    def writes() -> None:
        while not stop.wait(0.02):
            lock.write_text(str(time.monotonic_ns()))

    writer = threading.Thread(target=writes)
    writer.start()
    try:
        with pytest.raises(RepoError):
            locks.settle(lock, [], Job(patience=1.0))
    finally:
        stop.set()
        writer.join()
    assert lock.exists()
    assert locks.settle(lock, [], Job(patience=3.0)) and not lock.exists()


def test_where_owners_cannot_be_looked_for_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "user_of", lambda path, around: -1)
    lock = tmp_path / "x.lock"
    lock.touch()
    with pytest.raises(RepoError, match="delete that file"):
        locks.settle(lock, [], Job(patience=0.8))
    assert lock.exists()


def test_our_own_lock_ends_with_its_process(conversation: Conversation) -> None:
    conversation.make()
    code = (
        "import fcntl, os, sys, time; fd = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(fd, fcntl.LOCK_EX);"
        "print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(conversation.record)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    conversation.worktree.write("a.txt", "two\n")
    with pytest.raises(RepoError) as error:
        conversation.commit(job=Job(patience=0.3))
    assert error.value.kind == "locked"
    process.kill()
    process.wait()
    assert conversation.commit().total == 1


def test_who_no_longer_waits_for_a_lock_does_not_keep_it(tmp_path: Path) -> None:
    with locks.locked(tmp_path, Job()):
        for _ in range(3):
            with pytest.raises(RepoError), locks.locked(tmp_path, Job(patience=0.05)):
                pass
    blocking_until(lambda: "waiting for a lock" not in {thread.name for thread in threading.enumerate()})
    with locks.locked(tmp_path, Job(patience=0.0)):
        pass


def test_a_lock_on_a_directory_that_was_replaced_meanwhile_is_taken_on_the_new_one(tmp_path: Path) -> None:
    place = tmp_path / "record"
    place.mkdir()
    entered = threading.Event()

    def second() -> None:
        with locks.locked(place, Job(), make=True):
            entered.set()

    with locks.locked(place, Job()):
        thread = threading.Thread(target=second)
        thread.start()
        blocking_until(lambda: "waiting for a lock" in {each.name for each in threading.enumerate()})
        place.rmdir()
        with locks.locked(place, Job(), make=True):  # a third has made it again
            time.sleep(0.1)
            assert not entered.is_set()
    thread.join(10)
    assert entered.is_set()


def test_locks_of_the_roots_own_index_and_packed_refs_are_nobodys_business(conversation: Conversation) -> None:
    """Nothing of ours needs them, so a user's git at work, or a lock it left, changes nothing and is left alone."""
    git = conversation.root.path / ".git"
    made = [git / "index.lock", git / "packed-refs.lock", git / "HEAD.lock", git / "config.lock"]
    for lock in made:
        lock.touch()
    conversation.make(with_changes=True)
    conversation.worktree.write("a.txt", "two\n")
    assert conversation.commit().total == 1
    assert all(lock.exists() for lock in made)
    for lock in made:
        lock.unlink()


def test_a_branch_is_deleted_only_where_nothing_can_be_lost(tmp_path: Path) -> None:
    root: Repo = make(tmp_path / "r")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    tip = conversation.commit().commit
    repository = pygit2.Repository(str(root.path))
    assert not refs.delete_if_at(repository, BRANCH, pygit2.Oid(hex=tip))
    assert root.rev(BRANCH) == tip
    root.git("branch", "conv/same", "main")
    assert not refs.delete_if_at(repository, "conv/same", pygit2.Oid(hex=tip))
    assert refs.delete_if_at(repository, "conv/same", pygit2.Oid(hex=root.head))
