"""Worktrees: made whole, repaired from any half, never touched once they hold work."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from thetis_kernel.errors import Cancelled, RepoError
from thetis_kernel.repo import checkout, lease, marker
from thetis_kernel.repo.job import Counter, Job
from thetis_kernel.repo.materialise import materialise

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import Repo, driven, make, make_large, root_state


def test_a_worktree_is_the_commit_whole_and_git_agrees(conversation: Conversation) -> None:
    made = conversation.make()
    assert (made.commit, made.base, made.files, made.made) == (conversation.root.head, conversation.root.head, 4, True)
    assert conversation.is_clean() and conversation.worktree.head == made.commit
    assert os.access(conversation.worktree.path / "run.sh", os.X_OK)
    assert os.readlink(conversation.worktree.path / "link") == "a.txt"
    assert str(conversation.worktree.path) in conversation.root.git("worktree", "list")
    assert conversation.root.git("fsck", "--strict") == ""


def test_a_complete_worktree_with_edits_is_not_touched(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "edited\n")
    conversation.worktree.write("new/file", "new\n")
    before = (conversation.worktree.path / "a.txt").stat()
    again = conversation.make()
    assert (again.made, again.notes) == (False, [])
    assert conversation.worktree.read("a.txt") == b"edited\n" and conversation.worktree.read("new/file") == b"new\n"
    assert (conversation.worktree.path / "a.txt").stat().st_mtime_ns == before.st_mtime_ns


def test_a_branch_begins_where_it_is_told_or_at_the_roots_head(conversation: Conversation) -> None:
    first = conversation.root.rev("HEAD~1")
    assert conversation.make(base=first).commit == first
    assert not (conversation.worktree.path / "link").exists()
    other = Conversation(conversation.root, conversation.worktree.path.with_name("wt2"), "conv/other")
    assert other.make(base="main").commit == conversation.root.head
    third = Conversation(conversation.root, conversation.worktree.path.with_name("wt3"), "conv/third")
    assert third.make(base=BRANCH).commit == first


@pytest.mark.parametrize("base", ["HEAD", "main~1", "refs/heads/main", "no-such", "0" * 40, "--help", "", "@{-1}"])
def test_a_base_is_a_commit_or_a_branch_and_nothing_else(base: str, conversation: Conversation) -> None:
    if base == "":
        assert conversation.make(base=base).commit == conversation.root.head
        return
    with pytest.raises(RepoError) as error:
        conversation.make(base=base)
    assert error.value.kind == "unknown-commit"
    assert BRANCH not in conversation.root.git("branch", "--list", "conv/*")


@pytest.mark.parametrize(
    "branch", ["main", "conv/", "conv/A", "conv/../x", "conv/a/b", "conv/x.lock", "conv/\u202eevil", "refs/heads/x"]
)
def test_a_branch_is_one_of_ours(branch: str, conversation: Conversation) -> None:
    with pytest.raises(RepoError) as error:
        materialise(str(conversation.root.path), branch, str(conversation.worktree.path), Job())
    assert error.value.kind == "bad-name"


@pytest.mark.parametrize("where", ["relative/wt", "/", "{root}", "{root}/..", "{root}/x/../y", "/tmp/a\nb", "/tmp/\udcff"])
def test_a_worktree_is_never_where_it_would_hold_the_root(where: str, conversation: Conversation) -> None:
    with pytest.raises(RepoError) as error:
        materialise(str(conversation.root.path), BRANCH, where.format(root=conversation.root.path), Job())
    assert error.value.kind == "bad-path"


def test_an_unusable_root_makes_nothing(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    repo.git("branch", "conv")
    with pytest.raises(RepoError) as error:
        Conversation(repo, tmp_path / "wt").make()
    assert error.value.kind == "branch-named-conv"
    assert not (tmp_path / "wt").exists() and not (repo.path / ".git" / "worktrees").exists()


# Repairs

def _half_made(conversation: Conversation) -> None:
    """As a kill in the middle of a checkout leaves it."""
    conversation.make()
    found = marker.read_marker(conversation.record)
    assert found is not None
    marker.write_marker(conversation.record, marker.Marker(found.branch, found.worktree, "making", found.base, found.tip))
    (conversation.worktree.path / "a.txt").write_text("on")
    shutil.rmtree(conversation.worktree.path / "d")
    (conversation.record / "index").unlink()
    (conversation.record / "index.lock").touch()


def test_a_half_made_worktree_is_redone(conversation: Conversation) -> None:
    _half_made(conversation)
    assert conversation.make().made
    assert conversation.is_clean() and conversation.worktree.read("d/b.txt") == b"b\n"


def test_a_half_made_worktree_takes_no_commit(conversation: Conversation) -> None:
    _half_made(conversation)
    with pytest.raises(RepoError) as error:
        conversation.commit()
    assert error.value.kind == "not-materialised"
    assert conversation.root.rev(BRANCH) == conversation.root.head


def test_a_lost_directory_is_made_again_from_the_branch(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("work.txt", "work\n")
    conversation.commit()
    shutil.rmtree(conversation.worktree.path)
    again = conversation.make(recorded=True)
    assert again.made and "was gone" in again.notes[0] and again.base == conversation.root.head
    assert conversation.is_clean() and conversation.worktree.read("work.txt") == b"work\n"


def test_a_pruned_record_is_made_again_around_recorded_work(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("work.txt", "work\n")
    conversation.commit()
    conversation.worktree.write("a.txt", "edited\n")
    shutil.rmtree(conversation.record)
    again = conversation.make(recorded=True)
    assert not again.made and again.base == conversation.root.head
    assert conversation.worktree.read("a.txt") == b"edited\n"
    assert conversation.worktree.git("status", "--porcelain") == "M a.txt"
    assert [changed.path for changed in conversation.commit().changed] == ["a.txt"]


def test_a_pruned_record_of_a_half_made_worktree_is_no_reason_to_keep_the_half(conversation: Conversation) -> None:
    conversation.make()
    (conversation.worktree.path / "a.txt").unlink()
    shutil.rmtree(conversation.record)
    assert conversation.make(recorded=False).made
    assert conversation.is_clean()


def test_what_git_itself_prunes_comes_back(conversation: Conversation) -> None:
    conversation.make()
    away = conversation.worktree.path.with_name("away")
    conversation.worktree.path.rename(away)
    conversation.root.git("worktree", "prune")
    assert not conversation.record.exists()
    away.rename(conversation.worktree.path)
    conversation.worktree.write("a.txt", "edited\n")
    assert not conversation.make(recorded=True).made
    assert conversation.worktree.read("a.txt") == b"edited\n"


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_missing_git_file_is_put_back_without_touching_the_rest(left: str, conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "edited\n")
    (conversation.worktree.path / ".git").unlink()
    if left != "nothing":
        (conversation.worktree.path / ".git").touch()
    assert not conversation.make().made
    assert conversation.worktree.git("status", "--porcelain") == "M a.txt"  # and no draft lies beside it


def test_a_full_disk_fails_the_making_and_the_next_call_completes_it(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"a.txt": "one\n", "big.bin": os.urandom(300_000), "z.txt": "z\n"})
    conversation = Conversation(root, tmp_path / "wt")
    answer = driven("materialise", str(root.path), BRANCH, str(tmp_path / "wt"), home=root.home, largest_file=100_000)
    assert answer["error"] == "checkout-failed", answer
    assert conversation.make().made and conversation.is_clean() and len(conversation.worktree.read("big.bin")) == 300_000


def test_what_stands_in_the_place_of_the_git_file_is_left_and_said(conversation: Conversation) -> None:
    conversation.make()
    (conversation.worktree.path / ".git").unlink()
    Repo(conversation.worktree.path).git("init", "-q")
    conversation.worktree.write("a.txt", "edited\n")
    again = conversation.make()
    assert not again.made and ".git is not the one" in again.notes[0]
    # and commits still go to the conversation, since the record leads there, not the agent's `.git`
    assert conversation.commit().total == 1
    assert conversation.root.show(f"{BRANCH}:a.txt") == b"edited\n"


def test_a_lost_branch_is_put_back(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("work.txt", "work\n")
    tip = conversation.commit().commit
    conversation.root.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    again = conversation.make(recorded=True)
    assert again.commit == tip == conversation.root.rev(BRANCH) and "put back" in again.notes[0]


@pytest.mark.parametrize("occupant", ["files", "file", "link", "other worktree"])
def test_what_is_not_ours_is_never_removed(occupant: str, conversation: Conversation, tmp_path: Path) -> None:
    where = conversation.worktree.path
    where.parent.mkdir()
    if occupant == "files":
        where.mkdir()
        (where / "mine").write_text("mine\n")
    elif occupant == "file":
        where.write_text("mine\n")
    elif occupant == "link":
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "mine").write_text("mine\n")
        where.symlink_to(tmp_path / "real")
    else:
        make(tmp_path / "o").git("worktree", "add", "-q", "-b", "side", str(where))
    before = sorted(os.listdir(where)) if where.is_dir() else where.read_text()
    with pytest.raises(RepoError) as error:
        conversation.make()
    assert error.value.kind == "occupied"
    assert (sorted(os.listdir(where)) if where.is_dir() else where.read_text()) == before


def test_an_empty_directory_is_used(conversation: Conversation) -> None:
    conversation.worktree.path.mkdir(parents=True)
    assert conversation.make().made and conversation.is_clean()


def test_one_conversation_has_one_worktree(conversation: Conversation) -> None:
    conversation.make()
    with pytest.raises(RepoError) as error:
        materialise(str(conversation.root.path), BRANCH, str(conversation.worktree.path) + "-2", Job())
    assert error.value.kind == "occupied"


def test_an_existing_branch_keeps_its_commits(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("work.txt", "work\n")
    tip = conversation.commit().commit
    shutil.rmtree(conversation.worktree.path)
    shutil.rmtree(conversation.record)
    again = conversation.make(base="main")
    assert (again.commit, again.base) == (tip, conversation.root.head)
    assert conversation.worktree.read("work.txt") == b"work\n"


def test_two_callers_at_once_make_one_worktree(conversation: Conversation) -> None:
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.append(conversation.make().made)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False, False, False, True] and conversation.is_clean()


# Progress and cancel

def test_progress_is_reported_often_and_to_the_end(tmp_path: Path) -> None:
    root = make_large(tmp_path / "r", 2000)
    reports: list[tuple[str, int, int, float]] = []
    job = Job(report=lambda phase, done, total: reports.append((phase, done, total, time.monotonic())))
    Conversation(root, tmp_path / "wt").make(job)
    checkout = [report for report in reports if report[0] == "checkout"]
    assert checkout[0][1] == 0 and checkout[-1][1:3] == (2000, 2000)
    assert [report[1] for report in checkout] == sorted(report[1] for report in checkout)
    assert {report[0] for report in reports} == {"checkout", "sync"}


def test_a_cancelled_checkout_stops_and_the_next_call_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "LARGEST", 100)
    root = make_large(tmp_path / "r", 1000)
    conversation = Conversation(root, tmp_path / "wt")
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise Cancelled("no longer wanted")

    with pytest.raises(Cancelled):
        conversation.make(Job(check=check))
    files = sum(len(names) for _, _, names in os.walk(tmp_path / "wt"))
    assert 0 < files < 1000
    assert conversation.make().files == 1000 and conversation.is_clean()


def test_a_chunk_takes_about_as_long_as_it_should_however_slow_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that progress and cancel do not depend on the size of files: slower files, smaller chunks."""
    now = 0.0
    chunks: list[int] = []

    class Slow:
        def checkout_tree(self, tree: object, *, strategy: object, paths: list[os.PathLike[str]]) -> None:
            nonlocal now
            chunks.append(len(paths))
            now += len(paths) * (0.05 if sum(chunks) > 10_000 else 0.0001)

    monkeypatch.setattr(checkout, "time", SimpleNamespace(monotonic=lambda: now))
    counter = Counter(20_000)
    checkout._write(Slow(), None, [b"x"] * 20_000, counter, Job())  # type: ignore[arg-type]
    assert counter.done == sum(chunks) == 20_000
    assert chunks[:4] == [100, 200, 400, 800] and 990 <= chunks[4] <= 1000  # a tenth of a second
    assert set(chunks[-1000:-1]) == {checkout.SMALLEST}  # where a file takes half of that


def test_a_sync_that_takes_long_does_not_hold_a_cancel_up(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    release, cancelled = threading.Event(), threading.Event()
    monkeypatch.setattr("thetis_kernel.repo.materialise.sync_filesystem", lambda _: cancelled.set() or release.wait(30))

    def check() -> None:
        if cancelled.is_set():
            raise Cancelled("no longer wanted")

    with pytest.raises(Cancelled):
        conversation.make(Job(check=check))
    release.set()
    assert conversation.make().made  # never said to be complete without its sync


def test_the_files_are_on_disk_before_the_worktree_counts_as_complete(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[str] = []
    monkeypatch.setattr(
        "thetis_kernel.repo.materialise.sync_filesystem",
        lambda path: states.append(f"{marker.read_marker(conversation.record).state} {(path / 'a.txt').exists()}"),  # type: ignore[union-attr]
    )
    conversation.make()
    assert states == ["making True"]


def test_other_threads_run_during_a_checkout(tmp_path: Path) -> None:
    """add_worktree would hold the interpreter's lock throughout; here a thread must get its turns."""
    root = make_large(tmp_path / "r", 2000)
    done = threading.Event()
    turns = 0

    def spin() -> None:
        nonlocal turns
        while not done.wait(0.001):
            turns += 1

    spinner = threading.Thread(target=spin)
    spinner.start()
    Conversation(root, tmp_path / "wt").make()
    done.set()
    spinner.join()
    assert turns >= 20


# Taking the root's changes along

def test_uncommitted_files_come_along_and_stay_where_they_are(tmp_path: Path) -> None:
    files = {"a.txt": "one\n", "gone.txt": "x\n", "was/dir.txt": "x\n", "mode.sh": "x\n", ".gitignore": "*.log\n"}
    root = make(tmp_path / "r", **files)
    root.write("a.txt", "edited\n")
    root.write("staged.txt", "staged\n")
    root.write("forced.log", "an ignored file that was added all the same\n")
    root.git("add", "staged.txt")
    root.git("add", "-f", "forced.log")
    root.write("staged.txt", "edited after staging\n")
    root.write("new/deep.txt", "untracked\n")
    root.write("ignored.log", "ignored\n")
    (root.path / "gone.txt").unlink()
    shutil.rmtree(root.path / "was")
    root.write("was", "a file where a directory was\n")
    (root.path / "mode.sh").chmod(0o755)
    (root.path / "link").symlink_to("a.txt")
    os.mkfifo(root.path / "pipe")
    root.write(b"n\xffme", "not UTF-8\n")
    before = root_state(root.path)
    conversation = Conversation(root, tmp_path / "wt")
    made = conversation.make(with_changes=True)
    assert made.included == 10 and made.skipped == [] and made.base == root.head != made.commit
    assert conversation.worktree.git("log", "--format=%s", f"{root.head}..") == "Uncommitted files of the checkout, taken along"
    assert conversation.is_clean()
    expected = {
        "a.txt": b"edited\n", "staged.txt": b"edited after staging\n", "new/deep.txt": b"untracked\n",
        "was": b"a file where a directory was\n", "forced.log": b"an ignored file that was added all the same\n",
    }  # fmt: skip
    assert {name: conversation.worktree.show(f"HEAD:{name}") for name in expected} == expected
    names = conversation.worktree.names("HEAD")
    assert "gone.txt" not in names and "ignored.log" not in names and "n\udcffme" in names
    assert conversation.worktree.git("ls-tree", "HEAD", "mode.sh", "link").split()[0::4][:2] == ["120000", "100755"]
    assert root_state(root.path) == before
    root.git("status")  # and git finds it as it was


def test_with_nothing_uncommitted_there_is_no_first_commit(conversation: Conversation) -> None:
    made = conversation.make(with_changes=True)
    assert (made.commit, made.included) == (conversation.root.head, 0)


def test_a_retry_after_a_kill_takes_the_changes_along_once(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    root.write("a.txt", "edited\n")
    conversation = Conversation(root, tmp_path / "wt")
    made = conversation.make(with_changes=True)
    found = marker.read_marker(conversation.record)
    assert found is not None
    marker.write_marker(conversation.record, marker.Marker(found.branch, found.worktree, "making", found.base, found.tip))
    again = conversation.make(with_changes=True)
    assert again.made and again.commit == made.commit and conversation.worktree.read("a.txt") == b"edited\n"


def test_changes_only_come_along_from_what_is_checked_out(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    first = root.head
    root.write("a.txt", "two\n")
    root.commit()
    root.write("a.txt", "edited\n")
    with pytest.raises(RepoError) as error:
        Conversation(root, tmp_path / "wt").make(base=first, with_changes=True)
    assert error.value.kind == "changes-need-head"


def test_a_half_made_worktree_somebody_holds_is_no_obstacle_once_they_are_dead(conversation: Conversation) -> None:
    conversation.make()
    lease.hold(conversation.record, BRANCH, os.getpid())
    assert lease.holder(conversation.record) == os.getpid()
    assert not conversation.make().made
