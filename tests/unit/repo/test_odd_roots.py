"""Every odd but usable root carries a conversation from its first message to a commit, and stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo.changes import count_changes
from thetis_kernel.repo.diff import diff
from thetis_kernel.repo.history import branch_status, log
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.worktrees import list_worktrees, remove_worktree

from tests.support.conversations import Conversation
from tests.support.repos import Repo, make, root_state
from tests.unit.repo.test_inspection import PECULIAR


@pytest.mark.parametrize("feature", PECULIAR)
def test_a_conversation_lives_in_every_peculiar_root(feature: str, tmp_path: Path) -> None:
    root = Repo(PECULIAR[feature](tmp_path), tmp_path / "git-home")
    git_directory = root.git("rev-parse", "--absolute-git-dir")
    before = root_state(root.path)
    conversation = Conversation(root, tmp_path / "wt")
    made = conversation.make()
    assert made.commit == root.head
    assert sorted(conversation.worktree.names("HEAD")) == sorted(root.names("HEAD"))
    conversation.worktree.write("turn.txt", "one\n")
    assert [each.path for each in conversation.commit().changed] == ["turn.txt"]
    assert conversation.is_clean()
    text = str(root.path)
    assert [each.path for each in diff(text, conversation.branch).files] == ["turn.txt"]
    assert branch_status(text, conversation.branch, "").ahead == 1
    assert [each.subject for each in log(text, conversation.branch, 1, "").commits] == ["turn"]
    assert [(each.branch, each.state) for each in list_worktrees(text, details=True)] == [(conversation.branch, "ready")]
    assert remove_worktree(text, conversation.branch, Job(), discard=False).existed
    assert root_state(root.path) == before
    assert root.git("fsck", "--no-dangling", check=False) == ""
    assert Path(git_directory).is_dir()


def test_a_sparse_root_gives_a_full_worktree(tmp_path: Path) -> None:
    root = Repo(PECULIAR["sparse"](tmp_path), tmp_path / "git-home")
    assert not (root.path / "out" / "b").exists()
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert conversation.worktree.read("out/b") == b"2\n"
    conversation.worktree.write("a", "x\n")
    assert conversation.commit().total == 1  # and nothing of the root's holes is a deletion
    assert "out/b" in conversation.worktree.names("HEAD")


@pytest.mark.parametrize("feature", ["sparse", "split-index"])
def test_where_changes_cannot_be_told_that_is_the_answer(feature: str, tmp_path: Path) -> None:
    root = Repo(PECULIAR[feature](tmp_path), tmp_path / "git-home")
    changes = count_changes(str(root.path))
    assert (changes.known, changes.count) == (False, 0) and changes.sentence
    with pytest.raises(RepoError) as error:
        Conversation(root, tmp_path / "wt").make(with_changes=True)
    assert error.value.kind == "changes-unknown"


def test_a_root_that_is_a_worktree_keeps_its_own_index_and_head(tmp_path: Path) -> None:
    main = make(tmp_path / "o")
    main.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "r"))
    root = Repo(tmp_path / "r", main.home)
    root.write("a.txt", "staged\n")
    root.git("add", "a.txt")
    record = main.path / ".git" / "worktrees" / "r"
    before = {name: (record / name).read_bytes() for name in ("index", "HEAD")}
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("b.txt", "b\n")
    assert conversation.commit().total == 1
    assert {name: (record / name).read_bytes() for name in before} == before
    assert main.git("status", "--porcelain") == "" and root.git("status", "--porcelain") == "M  a.txt"


def test_uncommitted_files_are_counted_without_writing_the_index(tmp_path: Path) -> None:
    """complaints 113: looking at the root writes nothing into it."""
    files = {"a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n", "secret": "x\n", ".gitattributes": "secret filter=crypt\n"}
    root = make(tmp_path / "r", **files)
    root.write("a.txt", "2\n")
    root.git("add", "a.txt")
    root.write("a.txt", "3\n")
    root.write("new/d.txt", "new\n")
    (root.path / "b.txt").unlink()
    root.write("secret", "PLAIN\n")
    (root.path / "c.txt").touch()  # same content, other times: git would refresh its index here
    before = root_state(root.path)
    changes = count_changes(str(root.path))
    assert (changes.known, changes.count, changes.paths, changes.uncertain) == (
        True, 3, ["a.txt", "b.txt", "new/d.txt"], 1,
    )  # fmt: skip
    assert root_state(root.path) == before
    made = Conversation(root, tmp_path / "wt").make(with_changes=True)
    assert made.included == 3 and [(each.path, each.why) for each in made.skipped] == [("secret", "it has the filter crypt")]
