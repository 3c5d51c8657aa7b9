"""Listing, removing and sweeping: ours alone, never with work in them, never under a living process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo import lease, marker
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.removal import remove_tree
from thetis_kernel.repo.worktrees import list_worktrees, remove_worktree, sweep

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import CHECKOUT, make


def remove(conversation: Conversation, *, discard: bool = False, branch: str = BRANCH) -> bool:
    return remove_worktree(str(conversation.root.path), branch, Job(patience=3), discard=discard).existed


def test_a_removed_worktree_leaves_its_branch_and_nothing_else(conversation: Conversation) -> None:
    """complaints 102: a branch whose commits are nowhere else outlives its worktree."""
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    tip = conversation.commit().commit
    assert remove(conversation)
    assert not conversation.worktree.path.exists() and not (conversation.root.path / ".git" / "worktrees").exists()
    assert conversation.root.rev(BRANCH) == tip
    assert not remove(conversation)
    again = conversation.make(base="main")
    assert again.made and again.commit == tip


@pytest.mark.parametrize("work", ["edit", "untracked", "staged", "deleted"])
def test_uncommitted_work_is_not_removed_unless_a_person_says_so(work: str, conversation: Conversation) -> None:
    conversation.make()
    if work == "deleted":
        (conversation.worktree.path / "a.txt").unlink()
    else:
        conversation.worktree.write("a.txt" if work == "edit" else "new.txt", "work\n")
    if work == "staged":
        conversation.worktree.git("add", "new.txt")
        (conversation.worktree.path / "new.txt").unlink()
    with pytest.raises(RepoError) as error:
        remove(conversation)
    assert error.value.kind == "dirty" and conversation.worktree.path.exists()
    assert [each.dirty for each in list_worktrees(str(conversation.root.path), details=True)] == [1]
    assert remove(conversation, discard=True)


def test_a_worktree_the_user_made_is_none_of_ours(tmp_path: Path) -> None:
    """complaints 105: only what is recorded as ours is removed."""
    root = make(tmp_path / "r")
    root.git("worktree", "add", "-q", "-b", BRANCH, str(tmp_path / "conv-ab12cd34"))
    conversation = Conversation(root, tmp_path / "conv-ab12cd34")
    assert list_worktrees(str(root.path), details=True) == [] and sweep(str(root.path), Job()) == []
    with pytest.raises(RepoError) as error:
        remove(conversation, discard=True)
    assert error.value.kind == "not-ours" and (tmp_path / "conv-ab12cd34" / "a.txt").exists()


def test_links_in_a_worktree_lead_no_removal_outside(conversation: Conversation, tmp_path: Path) -> None:
    """complaints 108: no removal follows a link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine\n")
    conversation.make()
    (conversation.worktree.path / "out").symlink_to(outside)
    shutil.rmtree(conversation.worktree.path / "d")
    (conversation.worktree.path / "d").symlink_to(outside)
    assert remove(conversation, discard=True)
    assert (outside / "precious").read_text() == "mine\n"


def test_a_worktree_that_became_a_link_is_not_followed(conversation: Conversation, tmp_path: Path) -> None:
    outside = make(tmp_path / "outside").path
    conversation.make()
    shutil.rmtree(conversation.worktree.path)
    conversation.worktree.path.symlink_to(outside)
    with pytest.raises(RepoError):
        remove(conversation, discard=True)
    assert (outside / "a.txt").exists()


def test_a_removal_cut_short_is_finished_and_makes_way_for_the_next(conversation: Conversation) -> None:
    conversation.make()
    found = marker.read_marker(conversation.record)
    assert found is not None
    marker.write_marker(conversation.record, marker.Marker(found.branch, found.worktree, "removing", found.base, found.tip))
    (conversation.worktree.path / "a.txt").unlink()
    (conversation.worktree.path / ".git").unlink()
    assert [each.state for each in list_worktrees(str(conversation.root.path), details=False)] == ["removing"]
    assert [notice.kind for notice in sweep(str(conversation.root.path), Job())] == ["removing"]
    assert not conversation.worktree.path.exists() and list_worktrees(str(conversation.root.path), details=False) == []
    assert conversation.make().made and conversation.is_clean()


def test_a_sweep_throws_halves_away_names_the_lost_and_leaves_the_whole(tmp_path: Path) -> None:
    """complaints 106: half-made and half-removed worktrees are set right at the start, and block nothing."""
    root = make(tmp_path / "r")
    half, lost, whole = (Conversation(root, tmp_path / name, f"conv/{name}") for name in ("half", "lost", "whole"))
    for conversation in (half, lost, whole):
        conversation.make()
        conversation.worktree.write("work.txt", "work\n")
    found = marker.read_marker(half.record)
    assert found is not None
    marker.write_marker(half.record, marker.Marker(found.branch, found.worktree, "making", found.base, found.tip))
    lost.commit()
    shutil.rmtree(lost.worktree.path)
    assert [(notice.kind, notice.sentence.split()[-4]) for notice in sweep(str(root.path), Job())] == [
        ("making", "removed;"), ("lost", "when"),
    ]  # fmt: skip
    assert {each.branch: each.state for each in list_worktrees(str(root.path), details=False)} == {
        "conv/lost": "lost", "conv/whole": "ready",
    }  # fmt: skip
    assert whole.worktree.read("work.txt") == b"work\n" and not half.worktree.path.exists()
    assert sorted(root.git("branch", "--list", "--format=%(refname:short)", "conv/*").split()) == [
        "conv/half", "conv/lost", "conv/whole",
    ]  # fmt: skip
    assert lost.make(recorded=True).made and lost.worktree.read("work.txt") == b"work\n"


# Leases

def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_a_living_process_keeps_its_worktree(conversation: Conversation) -> None:
    """complaints 104: cleaning up never takes the directory of somebody who works in it."""
    conversation.make()
    with _sleeper() as worker:
        try:
            lease.hold(conversation.record, BRANCH, worker.pid)
            lease.hold(conversation.record, BRANCH, worker.pid)  # again is fine
            assert [each.held_by for each in list_worktrees(str(conversation.root.path), details=False)] == [worker.pid]
            with pytest.raises(RepoError) as error:
                remove(conversation, discard=True)
            assert (error.value.kind, error.value.data["pid"]) == ("held", worker.pid)
            with pytest.raises(RepoError) as error:
                lease.hold(conversation.record, BRANCH, os.getpid())
            assert error.value.kind == "held"
            assert "process" in conversation.root.git("worktree", "list", "--verbose")
            conversation.worktree.path.rename(conversation.worktree.path.with_name("away"))
            conversation.root.git("worktree", "prune")
            assert conversation.record.exists()  # git respects the lease as its own lock
            conversation.worktree.path.with_name("away").rename(conversation.worktree.path)
            assert sweep(str(conversation.root.path), Job()) == []
        finally:
            worker.kill()


def test_a_dead_process_keeps_nothing(conversation: Conversation) -> None:
    conversation.make()
    with _sleeper() as worker:
        lease.hold(conversation.record, BRANCH, worker.pid)
        worker.kill()
    assert lease.holder(conversation.record) == 0
    assert [notice.kind for notice in sweep(str(conversation.root.path), Job())] == ["lease"]
    lease.hold(conversation.record, BRANCH, os.getpid())
    assert lease.release(conversation.record, os.getpid()) and not lease.release(conversation.record, os.getpid())
    assert remove(conversation)


def test_a_pid_that_somebody_else_has_by_now_keeps_nothing(conversation: Conversation) -> None:
    conversation.make()
    lease.hold(conversation.record, BRANCH, os.getpid())
    text = (conversation.record / lease.NAME).read_text()
    (conversation.record / lease.NAME).write_text(text.replace("started ", "started 0"))
    assert lease.holder(conversation.record) == 0


def test_a_lock_a_person_put_there_is_respected(conversation: Conversation) -> None:
    conversation.make()
    conversation.root.git("worktree", "lock", "--reason", "on a stick", str(conversation.worktree.path))
    lease.hold(conversation.record, BRANCH, os.getpid())
    with pytest.raises(RepoError) as error:
        remove(conversation, discard=True)
    assert error.value.kind == "locked-by-user"
    assert not lease.release(conversation.record, os.getpid()) and sweep(str(conversation.root.path), Job()) == []


def test_nobody_holds_for_a_process_that_is_not_there(conversation: Conversation) -> None:
    conversation.make()
    with _sleeper() as worker:
        worker.kill()
    for pid in (0, -1, worker.pid):
        with pytest.raises(RepoError):
            lease.hold(conversation.record, BRANCH, pid)


# Removing what an agent filled

def test_directories_without_write_permission_are_removed_too(tmp_path: Path) -> None:
    """As module caches have. Root may remove anything, so as root this runs as somebody else."""
    tree = tmp_path / "t" / "tree"
    (tree / "cache" / "mod").mkdir(parents=True)
    (tree / "cache" / "mod" / "file").write_text("x")
    (tree / "closed").mkdir()
    (tree / "closed" / "file").write_text("x")
    (tree / "cache" / "mod").chmod(0o555)
    (tree / "cache").chmod(0o555)
    (tree / "closed").chmod(0o000)
    if os.geteuid() != 0:
        remove_tree(tree)
    else:
        for where, _, _ in os.walk(tmp_path / "t"):
            os.chown(where, 12345, 12345)
        for parent in (tmp_path, *tmp_path.parents):
            if parent != Path("/tmp") and parent.is_relative_to("/tmp"):
                parent.chmod(0o755)
        code = "import sys; sys.path[:0] = sys.argv[2:]; from pathlib import Path; import thetis_kernel.repo.removal as r;" \
               "import os; os.setgid(12345); os.setuid(12345); r.remove_tree(Path(sys.argv[1]))"  # fmt: skip
        subprocess.run([sys.executable, "-c", code, str(tree), str(CHECKOUT / "kernel")], check=True)
    assert not tree.exists() and (tmp_path / "t").exists()
