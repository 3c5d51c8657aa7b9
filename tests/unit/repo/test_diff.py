"""Diffs, status and log of a branch: right, bounded, and unable to hang or to lie about bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import DiffText
from thetis_kernel.repo import diff as module
from thetis_kernel.repo.diff import diff
from thetis_kernel.repo.history import branch_status, log

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import make


def of(conversation: Conversation, **keywords: object) -> DiffText:
    return diff(str(conversation.root.path), BRANCH, **keywords)  # type: ignore[arg-type]


def test_a_diff_is_what_git_says_it_is(conversation: Conversation) -> None:
    conversation.make()
    tree = conversation.worktree
    tree.write("a.txt", "two\nthree\n")
    tree.write("new.txt", "new\n")
    tree.write("blob.bin", b"\0\1\2")
    (tree.path / "d" / "b.txt").rename(tree.path / "moved.txt")
    uncommitted = of(conversation, uncommitted=True)
    conversation.commit()
    committed = of(conversation)
    assert {(each.status, each.path, each.added, each.removed) for each in committed.files} == {
        ("M", "a.txt", 2, 1), ("A", "new.txt", 1, 0), ("A", "blob.bin", 0, 0), ("R", "moved.txt", 0, 0),
    }  # fmt: skip
    assert [each.old_path for each in committed.files if each.status == "R"] == ["d/b.txt"]
    assert [each.path for each in committed.files if each.binary] == ["blob.bin"]
    assert (committed.total, committed.added, committed.removed, committed.truncated) == (4, 3, 1, False)
    assert committed.patch == conversation.root.git("diff", "-M", f"main...{BRANCH}") + "\n"
    assert {(each.status, each.path, each.added, each.removed) for each in uncommitted.files} == {
        ("M", "a.txt", 2, 1), ("A", "new.txt", 1, 0), ("A", "blob.bin", 0, 0), ("A", "moved.txt", 1, 0), ("D", "d/b.txt", 0, 1),
    }  # fmt: skip
    tree.git("add", "-A")
    tree.write("a.txt", "two\nthree\nfour\n")  # over what is committed and staged
    assert "+four" in of(conversation, uncommitted=True).patch and "+new" in of(conversation, uncommitted=True).patch


def test_a_diff_begins_where_it_is_told(conversation: Conversation) -> None:
    conversation.make()
    commits = []
    for turn in range(3):
        conversation.worktree.write(f"{turn}.txt", "x\n")
        commits.append(conversation.commit().commit)
    assert [each.path for each in of(conversation, base=commits[1]).files] == ["2.txt"]
    assert [each.path for each in of(conversation, trunk="main").files] == ["0.txt", "1.txt", "2.txt"]
    conversation.root.git("update-ref", "refs/heads/conv/side", commits[0])
    assert [each.path for each in of(conversation, trunk="conv/side").files] == ["1.txt", "2.txt"]
    with pytest.raises(RepoError):
        of(conversation, base="HEAD~1")


def test_trunk_may_move_on(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("mine.txt", "x\n")
    conversation.commit()
    root.write("theirs.txt", "x\n")
    root.commit()
    assert [each.path for each in of(conversation, trunk="main").files] == ["mine.txt"]
    info = branch_status(str(root.path), BRANCH, "")
    assert (info.trunk, info.ahead, info.behind, info.changed, info.dirty) == ("main", 1, 1, 1, 0)
    root.git("checkout", "-q", "--detach")
    info = branch_status(str(root.path), BRANCH, "")
    assert (info.trunk, info.ahead, info.behind) == ("", 1, 1)


def test_a_large_diff_is_cut_and_says_so(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 20)
    monkeypatch.setattr(module, "MAX_COMPARED", 10_000)
    conversation.make()
    for number in range(30):
        conversation.worktree.write(f"n/{number:02}.txt", f"{number}\n" * 50)
    conversation.worktree.write("b/huge.txt", "x\n" * 10_000)
    conversation.commit()
    answer = of(conversation, max_bytes=1000)
    assert answer.truncated and len(answer.patch.encode()) <= 1000
    assert (answer.total, len(answer.files)) == (31, 20)
    assert answer.files[0].path == "b/huge.txt" and answer.files[0].binary and "too large to compare" in answer.patch
    assert of(conversation, max_bytes=0).patch == ""


def test_bytes_that_are_not_text_survive_the_wire(conversation: Conversation) -> None:
    import msgspec

    conversation.make()
    conversation.worktree.write(b"n\xffme.txt", b"caf\xe9 \x1b[31m\n")
    conversation.commit(message="\udce9 title")
    answer = of(conversation)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(answer), type=DiffText) == answer
    assert answer.files[0].path == "n\\xffme.txt" and "caf\ufffd" in answer.patch
    assert log(str(conversation.root.path), BRANCH, 1, "").commits[0].subject == "? title"


def test_a_log_is_bounded_and_stops_where_it_is_told(conversation: Conversation) -> None:
    conversation.make()
    for turn in range(4):
        conversation.worktree.write("a.txt", f"{turn}\n")
        conversation.commit(f"turn {turn}\n\nbody {turn}", author="Ada <ada@localhost>")
    root = str(conversation.root.path)
    history = log(root, BRANCH, 2, "")
    assert [each.subject for each in history.commits] == ["turn 3", "turn 2"] and history.more
    assert history.commits[0].body == "body 3" and history.commits[0].author == "Ada <ada@localhost>"
    assert history.commits[0].parents == [history.commits[1].id]
    history = log(root, BRANCH, 100, "main")
    assert [each.subject for each in history.commits] == ["turn 3", "turn 2", "turn 1", "turn 0"] and not history.more
    assert len(log(root, BRANCH, 0, "").commits) == 1
    with pytest.raises(RepoError):
        log(root, "conv/none", 1, "")


def test_status_names_paths_a_filter_owns_whoever_committed_them(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{".gitattributes": "*.bin filter=lfs\n", "a.txt": "x\n"})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("big.bin", "raw\n")
    conversation.worktree.git("-c", "filter.lfs.clean=cat", "add", "big.bin")
    conversation.worktree.git("commit", "-q", "-m", "by hand")
    conversation.worktree.write("a.txt", "y\n")
    info = branch_status(str(root.path), BRANCH, "")
    assert (info.filtered, info.dirty, info.worktree) == (["big.bin"], 1, str(conversation.worktree.path))
