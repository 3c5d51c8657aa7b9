"""A branch lands on the person's: one commit, their checkout follows when it is clean and is untouched when it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.branches import Landed, Plan
from thetis_kernel.repo import forward, landing
from thetis_kernel.repo.branching import update
from thetis_kernel.repo.forward import apply, finish_forward
from thetis_kernel.repo.inspection import open_root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.landing import land, plan

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import make, root_state

TEXT = "".join(f"line {number}\n" for number in range(20))
OURS = TEXT.replace("line 3\n", "ours\n")


@pytest.fixture
def work(tmp_path: Path) -> Conversation:
    """A conversation that changed a file, added one and removed one, in two commits."""
    made = Conversation(make(tmp_path / "r", **{"a.txt": TEXT, "b.txt": "b\n", "c.txt": "c\n"}), tmp_path / "state" / "wt")
    made.make()
    made.worktree.write("a.txt", OURS)
    made.commit("Change a")
    made.worktree.write("d/new.txt", "new\n", executable=True)
    (made.worktree.path / "b.txt").unlink()
    made.commit("Add and remove")
    return made


def job() -> Job:
    return Job(patience=4)


def planned(work: Conversation, into: str = "") -> Plan:
    return plan(str(work.root.path), BRANCH, "main", into, job())


def landed(work: Conversation, into: str = "", seen: Plan | None = None) -> Landed:
    seen = seen or planned(work, into)
    return land(str(work.root.path), BRANCH, trunk="main", target=into, tip=seen.tip, onto=seen.onto, job=job(),
                message="All of it\n\nwhy\n")


def refused(kind: str, do: Callable[[], object]) -> RepoError:
    with pytest.raises(RepoError) as caught:
        do()
    assert (caught.value.kind == kind and caught.value.hint) or kind == "nothing"
    return caught.value


def whole(work: Conversation) -> bool:
    """The person's checkout is the trunk's commit, files, index and all."""
    return work.root.git("status", "--porcelain") == "" and work.root.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_a_plan_says_what_would_happen_and_changes_nothing(work: Conversation) -> None:
    before = root_state(work.root.path)
    told = planned(work)
    assert (told.how, told.target, told.total, told.ours, told.dirty, told.blocked) == ("ready", "main", 3, True, [], [])
    assert told.subjects == ["Add and remove", "Change a"] and told.place == str(work.root.path)
    assert {(each.status, each.path) for each in told.changed} == {("M", "a.txt"), ("A", "d/new.txt"), ("D", "b.txt")}
    assert root_state(work.root.path) == before


def test_the_branch_lands_as_one_commit_and_the_checkout_follows(work: Conversation) -> None:
    before, tip = work.root.head, work.root.rev(BRANCH)
    done = landed(work)
    assert work.root.git("log", "-1", "--format=%H|%P|%s|%an") == f"{done.commit}|{before}|All of it|Thetis"
    assert whole(work) and work.root.read("a.txt").decode() == OURS and not (work.root.path / "b.txt").exists()
    assert (work.root.path / "d" / "new.txt").stat().st_mode & 0o111
    assert work.root.rev(done.kept) == tip and done.kept.startswith("refs/thetis/presquash/conv-ab12cd34/")
    assert work.root.rev(BRANCH) == done.commit and work.is_clean()
    assert planned(work).how == "nothing"
    refused("nothing", lambda: landed(work))
    assert work.root.git("for-each-ref", "refs/thetis/forward") == ""


def test_it_lands_again_without_conflicts_with_itself(work: Conversation) -> None:
    landed(work)
    work.worktree.write("a.txt", OURS.replace("ours\n", "ours, better\n"))
    work.commit("Better")
    assert planned(work).subjects == ["Better"]
    landed(work)
    assert "better" in work.root.read("a.txt").decode() and whole(work)


def test_what_the_trunk_became_is_brought_in_first(work: Conversation) -> None:
    work.root.write("a.txt", TEXT.replace("line 17\n", "theirs\n"))
    theirs = work.root.commit("theirs")
    done = landed(work)
    assert work.root.read("a.txt").decode() == OURS.replace("line 17\n", "theirs\n") and whole(work)
    assert done.before == theirs and work.worktree.read("a.txt") == work.root.read("a.txt")


def test_conflicts_leave_everything_as_it_was(work: Conversation) -> None:
    work.root.write("a.txt", TEXT.replace("line 3\n", "theirs\n"))
    work.root.commit("theirs")
    told = planned(work)
    assert (told.how, told.conflicts) == ("conflicts", ["a.txt"])
    before, tip = root_state(work.root.path), work.root.rev(BRANCH)
    assert refused("conflicts", lambda: landed(work)).data["paths"] == ["a.txt"]
    assert root_state(work.root.path) == before and work.root.rev(BRANCH) == tip and work.is_clean()
    update(str(work.root.path), BRANCH, "main", job())
    refused("merge-open", lambda: landed(work))


@pytest.mark.parametrize("what", ["changed", "staged", "removed", "untracked in the way", "ignored in the way", "file above"])
def test_a_checkout_with_work_in_it_is_refused_and_untouched(what: str, work: Conversation) -> None:
    """complaints 110: a person's own uncommitted work is neither committed nor lost by a merge."""
    match what:
        case "changed":
            work.root.write("c.txt", "mine\n")
        case "staged":
            work.root.write("e.txt", "mine\n")
            work.root.git("add", "e.txt")
        case "removed":
            (work.root.path / "c.txt").unlink()
        case "untracked in the way":
            work.root.write("d/new.txt", "mine\n")
        case "ignored in the way":
            work.root.write(".git/info/exclude", "d/\n")
            work.root.write("d/new.txt", "mine\n")
        case _:
            work.root.write("d", "mine\n")
    work.root.git("stash", "list")
    before = root_state(work.root.path)
    assert planned(work).dirty
    error = refused("dirty", lambda: landed(work))
    assert "--into conv-ab12cd34" in error.hint
    assert root_state(work.root.path) == before


def test_untracked_files_elsewhere_are_no_hindrance_and_stay(work: Conversation) -> None:
    work.root.write("notes.txt", "mine\n")
    landed(work)
    assert work.root.git("status", "--porcelain") == "?? notes.txt" and work.root.read("notes.txt") == b"mine\n"


def test_a_branch_of_another_name_takes_it_and_the_checkout_is_left_alone(work: Conversation) -> None:
    work.root.write("c.txt", "mine\n")
    head = work.root.head
    done = landed(work, "feature/it")
    assert (work.root.rev("feature/it"), work.root.head, done.checked_out) == (done.commit, head, False)
    assert work.root.git("status", "--porcelain") == "M c.txt" and work.root.read("a.txt").decode() == TEXT
    work.worktree.write("more.txt", "more\n")
    work.commit("More")
    again = landed(work, "feature/it")
    assert again.before == done.commit
    for name in ("conv/ab12cd34", "a..b", "-x", "bad\x1bname", "HEAD.lock"):
        refused("bad-name", partial(planned, work, name))


def test_a_branch_checked_out_elsewhere_is_not_moved_under_its_feet(work: Conversation, tmp_path: Path) -> None:
    work.root.git("worktree", "add", "-q", "-b", "theirs", str(tmp_path / "other"))
    before = work.root.rev("theirs")
    told = planned(work, "theirs")
    assert not told.ours and told.blocked and str(tmp_path / "other") in told.place
    refused("checked-out-elsewhere", lambda: landed(work, "theirs"))
    assert work.root.rev("theirs") == before


def test_what_was_shown_is_what_lands(work: Conversation) -> None:
    seen = planned(work)
    work.worktree.write("late.txt", "late\n")
    work.commit("Late")
    refused("moved", lambda: landed(work, seen=seen))
    seen = planned(work)
    work.root.write("c.txt", "theirs\n")
    work.root.commit("theirs")
    refused("moved", lambda: landed(work, seen=seen))


def test_files_of_a_filter_block_it(work: Conversation) -> None:
    work.root.write(".gitattributes", "*.secret filter=git-crypt\n")
    work.root.write("k.secret", "cipher\n")
    work.root.commit("crypt")
    update(str(work.root.path), BRANCH, "main", job())
    work.worktree.git("-c", "filter.git-crypt.required=false", "rm", "-q", "--cached", "k.secret")
    work.worktree.write("k.secret", "plain\n")
    work.worktree.git("-c", "core.attributesFile=/dev/null", "update-index", "--add", "--cacheinfo",
                      f"100644,{work.worktree.git('hash-object', '-w', '--no-filters', 'k.secret')},k.secret")
    work.worktree.git("commit", "-q", "-m", "by hand")
    assert "filter" in planned(work).blocked[0]
    refused("filtered", lambda: landed(work))


class Killed(BaseException):
    """As a kill looks from here."""


@pytest.mark.parametrize("name", ["merge.kept", "merge.planned", "merge.moved", "merge.files", "merge.landed"])
def test_a_kill_leaves_the_target_old_or_new_and_is_finished(
    name: str, work: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.root.write("notes.txt", "mine\n")
    before = work.root.head

    def die(reached: str) -> None:
        if reached == name:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(forward, "point", die)
        patch.setattr(landing, "point", die)
        with pytest.raises(Killed):
            landed(work)
    moved = name in ("merge.moved", "merge.files", "merge.landed")
    assert (work.root.head != before) == moved
    if name == "merge.moved":
        work.root.write("c.txt", "since then\n")  # the person goes on working; it is none of the merge's files
        work.root.write("a.txt", OURS[:40])  # as if it had been cut while this file was written
    finish_forward(open_root(str(work.root.path)), job())
    expected = {"?? notes.txt"} | ({"M c.txt"} if name == "merge.moved" else set())
    assert {line.strip() for line in work.root.git("status", "--porcelain").splitlines()} == expected
    assert (work.root.read("a.txt").decode() == OURS) == moved
    assert work.root.git("for-each-ref", "refs/thetis/forward") == ""
    if name != "merge.moved":
        if moved:
            assert planned(work).how == "nothing"
        else:
            landed(work)
        assert work.root.read("a.txt").decode() == OURS
    assert work.commit().commit == "" and work.is_clean()


def test_a_kill_never_has_a_persons_edit_written_over(work: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(reached: str) -> None:
        if reached == "merge.moved":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(forward, "point", die)
        with pytest.raises(Killed):
            landed(work)
    work.root.write("a.txt", "my own words\n")
    told = finish_forward(open_root(str(work.root.path)), job())
    assert work.root.read("a.txt") == b"my own words\n" and any("a.txt" in sentence for sentence in told)


def test_apply_writes_files_and_nothing_else(work: Conversation) -> None:
    work.root.write("c.txt", "mine\n")
    work.root.git("add", "c.txt")
    head, index = work.root.head, work.root.read(".git/index")
    done = apply(str(work.root.path), BRANCH, job())
    assert (work.root.head, work.root.read(".git/index"), done.total) == (head, index, 3)
    assert work.root.read("a.txt").decode() == OURS and not (work.root.path / "b.txt").exists()
    assert apply(str(work.root.path), BRANCH, job()).total == 3  # again is the same
    assert work.root.read("c.txt") == b"mine\n"


def test_apply_is_refused_whole_for_a_file_both_changed(work: Conversation) -> None:
    work.root.write("a.txt", "mine\n")
    before = root_state(work.root.path)
    assert refused("dirty", lambda: apply(str(work.root.path), BRANCH, job())).data["paths"] == ["a.txt"]
    assert root_state(work.root.path) == before
    work.root.commit("mine")
    refused("conflicts", lambda: apply(str(work.root.path), BRANCH, job()))


def test_a_sparse_checkout_is_refused_with_its_reason(work: Conversation) -> None:
    work.root.git("sparse-checkout", "set", "d")
    before = root_state(work.root.path)
    assert "sparse" in " ".join(planned(work).dirty).lower()
    refused("dirty", lambda: landed(work))
    assert root_state(work.root.path) == before


def test_nothing_is_landed_by_an_unheard_of_trunk(work: Conversation) -> None:
    def look(**more: Any) -> Plan:
        return plan(str(work.root.path), BRANCH, "gone", more.get("into", ""), job())

    refused("no-trunk", look)


def test_messages_of_any_bytes_are_taken(work: Conversation) -> None:
    work.worktree.write("c.txt", "odd\n")
    work.worktree.git("add", "-A")
    message = work.root.path.parent / "message"
    message.write_bytes(b"caf\xe9 \xff\n")
    work.worktree.git("-c", "i18n.commitEncoding=utf-8", "commit", "-q", "-F", str(message))
    told = planned(work)
    assert told.subjects[0].startswith("caf")
    seen = land(str(work.root.path), BRANCH, trunk="main", target="", tip=told.tip, onto=told.onto, job=job(),
                message="nul \0 and \ud800")
    assert work.root.git("log", "-1", "--format=%s") == "nul  and ?" and seen.commit
