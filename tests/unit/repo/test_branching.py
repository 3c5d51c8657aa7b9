"""A conversation's own branch: the trunk brought in, conflicts resolved or given up, an earlier tree again, kills in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.branches import Moved
from thetis_kernel.repo import moving
from thetis_kernel.repo.branching import abort, complete, reset, update
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.marker import read_marker

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import make, root_state

TEXT = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def work(tmp_path: Path) -> Conversation:
    """A conversation begun; the trunk can be committed to."""
    made = Conversation(make(tmp_path / "r", **{"a.txt": TEXT, "b.txt": "b\n"}), tmp_path / "state" / "wt")
    made.make()
    return made


def job() -> Job:
    return Job(patience=4)


def root(work: Conversation) -> str:
    return str(work.root.path)


def update_it(work: Conversation) -> Moved:
    return update(root(work), BRANCH, "main", job())


def trunk(work: Conversation, **files: str | None) -> str:
    """One more commit on the trunk."""
    for name, text in files.items():
        path = name.replace("_", ".")
        (work.root.path / path).unlink() if text is None else work.root.write(path, text)
    return work.root.commit("trunk")


def conflicting(work: Conversation) -> Moved:
    work.worktree.write("a.txt", TEXT.replace("line 3\n", "ours\n"))
    work.worktree.write("mine.txt", "mine\n")
    trunk(work, a_txt=TEXT.replace("line 3\n", "theirs\n"), new_txt="n\n")
    return update_it(work)


def test_a_branch_without_commits_goes_forward(work: Conversation) -> None:
    theirs = trunk(work, a_txt=TEXT + "more\n", b_txt=None, c_txt="c\n")
    before = root_state(work.root.path)
    moved = update_it(work)
    assert (moved.how, moved.after, moved.total) == ("forward", theirs, 3)
    assert work.root.rev(BRANCH) == theirs and work.is_clean()
    assert root_state(work.root.path) == before
    assert update_it(work).how == "current"


def test_what_both_changed_elsewhere_is_merged_with_the_uncommitted_work(work: Conversation) -> None:
    work.worktree.write("a.txt", TEXT.replace("line 3\n", "ours\n"))
    work.worktree.write("mine.txt", "mine\n")
    theirs = trunk(work, a_txt=TEXT.replace("line 17\n", "theirs\n"))
    moved = update_it(work)
    assert (moved.how, [each.path for each in moved.changed]) == ("merged", ["a.txt"])
    both = TEXT.replace("line 3\n", "ours\n").replace("line 17\n", "theirs\n")
    assert work.worktree.read("a.txt").decode() == both and work.worktree.read("mine.txt") == b"mine\n"
    assert work.worktree.git("log", "-1", "--format=%P").split() == [moved.before, theirs] and work.is_clean()


def test_conflicts_leave_the_branch_and_mark_the_files(work: Conversation) -> None:
    moved = conflicting(work)
    assert (moved.how, moved.conflicts, moved.before) == ("conflicts", ["a.txt"], work.root.rev(BRANCH))
    text = work.worktree.read("a.txt").decode()
    assert "<<<<<<< this conversation\nours\n=======\ntheirs\n>>>>>>> the trunk\n" in text
    assert work.worktree.read("new.txt") == b"n\n"
    assert (work.commit().commit, work.commit().notes != []) == ("", True)  # a turn's end records no marks
    for again in (update_it, lambda w: reset(root(w), BRANCH, w.root.head, job())):
        with pytest.raises(RepoError) as caught:
            again(work)
        assert caught.value.kind == "merge-open"


def test_a_merge_is_completed_once_no_marks_are_left(work: Conversation) -> None:
    moved = conflicting(work)
    with pytest.raises(RepoError) as caught:
        complete(root(work), BRANCH, "", job())
    assert (caught.value.kind, caught.value.data["paths"]) == ("unresolved", ["a.txt"])
    work.worktree.write("a.txt", TEXT.replace("line 3\n", "both\n"))
    done = complete(root(work), BRANCH, "Settle it", job())
    assert work.worktree.git("log", "-1", "--format=%P|%s") == f"{moved.before} {work.root.head}|Settle it"
    assert done.after == work.root.rev(BRANCH) and work.is_clean()
    assert {each.path for each in done.changed} == {"a.txt", "new.txt"}
    assert update_it(work).how == "current"
    with pytest.raises(RepoError, match="No merge"):
        complete(root(work), BRANCH, "", job())


def test_an_aborted_merge_is_undone_and_what_stood_there_is_kept(work: Conversation) -> None:
    conflicting(work)
    work.worktree.write("a.txt", "half\n")
    work.worktree.write("later.txt", "later\n")
    done = abort(root(work), BRANCH, job())
    assert work.is_clean() and not (work.worktree.path / "new.txt").exists()
    assert work.worktree.read("a.txt").decode() == TEXT.replace("line 3\n", "ours\n")
    assert work.root.show(f"{done.saved}:a.txt") == b"half\n" and work.root.show(f"{done.saved}:later.txt") == b"later\n"
    assert done.saved in work.root.git("for-each-ref", "refs/thetis/saved")
    work.worktree.write("b.txt", "go on\n")
    assert work.commit().commit


def test_what_one_side_removed_stays_and_is_named(work: Conversation) -> None:
    work.worktree.write("b.txt", "changed\n")
    trunk(work, b_txt=None)
    moved = update_it(work)
    assert (moved.how, moved.conflicts, moved.kept) == ("conflicts", ["b.txt"], ["b.txt"])
    assert work.worktree.read("b.txt") == b"changed\n"
    assert complete(root(work), BRANCH, "", job()).how == "merged"


def test_an_earlier_tree_is_a_new_commit(work: Conversation) -> None:
    work.worktree.write("a.txt", "one\n")
    first = work.commit("one").commit
    work.worktree.write("a.txt", "two\n")
    second = work.commit("two").commit
    work.worktree.write("c.txt", "unsaved\n")
    done = reset(root(work), BRANCH, first[:8], job())
    assert work.worktree.read("a.txt") == b"one\n" and not (work.worktree.path / "c.txt").exists() and work.is_clean()
    log = work.worktree.git("log", "--format=%H", BRANCH).split()
    assert log[0] == done.after and second in log and work.root.show(f"{log[1]}:c.txt") == b"unsaved\n"
    for nonsense in ("", "0123456", "main", first[:3], "HEAD~1"):
        with pytest.raises(RepoError, match="names no commit"):
            reset(root(work), BRANCH, nonsense, job())


def test_the_trunk_may_be_gone(work: Conversation) -> None:
    with pytest.raises(RepoError) as caught:
        update(root(work), BRANCH, "elsewhere", job())
    assert caught.value.kind == "no-trunk"


def test_a_file_written_meanwhile_is_not_written_over(work: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    trunk(work, a_txt=TEXT + "more\n")
    check = moving._check

    def while_we_look(*arguments: Any) -> None:
        work.worktree.write("a.txt", "just now\n")
        check(*arguments)

    monkeypatch.setattr(moving, "_check", while_we_look)
    before = work.root.rev(BRANCH)
    with pytest.raises(RepoError) as caught:
        update_it(work)
    assert (caught.value.kind, work.root.rev(BRANCH)) == ("changed-meanwhile", before)
    assert work.worktree.read("a.txt") == b"just now\n"


class Killed(BaseException):
    """As a kill looks from here: nothing after it runs."""


POINTS = ["branch.planned", "branch.moved", "branch.files"]


def killed(monkeypatch: pytest.MonkeyPatch, name: str, do: Callable[[], object]) -> None:
    def die(reached: str) -> None:
        if reached == name:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(moving, "point", die)
        with pytest.raises(Killed):
            do()


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("torn", [False, True])
def test_a_kill_between_any_two_steps_is_finished_by_the_next(
    name: str, torn: bool, work: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.worktree.write("mine.txt", "mine\n")
    theirs = trunk(work, a_txt=TEXT.replace("line 17\n", "theirs\n"), b_txt=None)
    killed(monkeypatch, name, lambda: update_it(work))
    if torn and name == "branch.moved":  # one file was being written
        (work.worktree.path / "a.txt").write_text(TEXT[:30])
    work.worktree.write("mine.txt", "more of mine\n")
    work.make(recorded=True)
    moved = update_it(work)
    assert moved.how in ("merged", "current")
    assert work.root.git("merge-base", "--is-ancestor", theirs, BRANCH) == "" and work.is_clean()
    assert work.worktree.read("mine.txt") == b"more of mine\n" and "theirs" in work.worktree.read("a.txt").decode()
    assert not (work.worktree.path / "b.txt").exists()
    found = read_marker(work.record)
    assert found is not None and found.move is None and found.tip == work.root.rev(BRANCH)


@pytest.mark.parametrize("name", POINTS)
def test_a_kill_while_a_merge_is_opened_or_aborted(name: str, work: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(monkeypatch, name, lambda: conflicting(work))
    work.commit()
    found = read_marker(work.record)
    assert found is not None and found.merging and "<<<<<<<" in work.worktree.read("a.txt").decode()
    work.worktree.write("a.txt", "resolved\n")
    killed(monkeypatch, name, lambda: abort(root(work), BRANCH, job()))
    work.commit()
    assert work.worktree.read("a.txt").decode() == TEXT.replace("line 3\n", "ours\n") and work.is_clean()
    found = read_marker(work.record)
    assert found is not None and not found.merging and msgspec.structs.asdict(found)["move"] is None


def test_line_ends_are_those_of_a_checkout(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", **{".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\r\n"})
    work = Conversation(repo, tmp_path / "state" / "wt")
    work.make()
    trunk(work, a_txt="one\r\ntwo\r\n")
    update_it(work)
    assert work.worktree.read("a.txt") == b"one\r\ntwo\r\n" and work.is_clean()


def test_nothing_is_written_through_a_link(work: Conversation, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    work.root.write("d/x.txt", "x\n")
    trunk(work)
    (work.worktree.path / "d").symlink_to(tmp_path / "outside")
    moved = update_it(work)
    assert moved.how == "conflicts" and list((tmp_path / "outside").iterdir()) == []
