"""Repositories inside a worktree: submodules and those an agent made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.worktrees import remove_worktree

from tests.support.conversations import Conversation
from tests.support.repos import Repo, make, root_state


@pytest.fixture
def with_submodule(tmp_path: Path) -> Conversation:
    make(tmp_path / "o")
    root = make(tmp_path / "r")
    root.git("submodule", "-q", "add", f"file://{tmp_path}/o", "sub")
    root.commit()
    return Conversation(root, tmp_path / "wt")


def test_a_repository_the_agent_made_is_added_by_its_commit_and_said(conversation: Conversation) -> None:
    conversation.make()
    inner = make(conversation.worktree.path / "vendor" / "inner")
    conversation.worktree.write("a.txt", "two\n")
    answer = conversation.commit()
    assert {each.path for each in answer.changed} == {"a.txt", "vendor/inner"} and answer.skipped == []
    assert "vendor/inner is a git repository of its own" in answer.notes[0]
    assert conversation.worktree.git("ls-tree", "HEAD", "vendor/inner").split()[:3] == ["160000", "commit", inner.head]
    assert conversation.commit().commit == ""  # said and recorded once
    inner.write("more", "x\n")
    moved = inner.commit()
    answer = conversation.commit()
    assert answer.total == 1 and moved[:10] in answer.notes[0]
    assert conversation.worktree.git("ls-tree", "HEAD", "vendor/inner").split()[2] == moved


@pytest.mark.parametrize("state", ["unborn", "empty .git", ".git file", "HEAD is a pipe", "no HEAD", "hostile config", "packed"])
def test_no_inner_repository_fails_a_commit(state: str, conversation: Conversation, tmp_path: Path) -> None:
    conversation.make()
    inner = Repo(conversation.worktree.path / "inner")
    if state == "packed":
        make(inner.path).git("pack-refs", "--all")
    elif state == "hostile config":
        make(inner.path)
        (inner.path / ".git" / "config").unlink()
        os.mkfifo(inner.path / ".git" / "config")
        (inner.path / ".git" / "index").unlink()
        os.mkfifo(inner.path / ".git" / "index")
    elif state == ".git file":
        inner.write(".git", f"gitdir: {make(tmp_path / 'elsewhere').path}/.git\n")
    elif state == "empty .git":
        (inner.path / ".git").mkdir(parents=True)
    else:
        inner.path.mkdir()
        inner.git("init", "-q")
        if state != "unborn":
            (inner.path / ".git" / "HEAD").unlink()
        if state == "HEAD is a pipe":
            os.mkfifo(inner.path / ".git" / "HEAD")
    inner.write("file", "x\n")
    conversation.worktree.write("a.txt", "two\n")
    answer = conversation.commit()
    if state in ("packed", "hostile config"):
        assert {each.path for each in answer.changed} == {"a.txt", "inner"}
    else:
        assert [each.path for each in answer.changed] == ["a.txt"]
        assert [each.path for each in answer.skipped] == ["inner"] and "of its own" in answer.skipped[0].why
    conversation.worktree.write("a.txt", "three\n")
    assert "a.txt" in [each.path for each in conversation.commit().changed]


def test_an_inner_repository_that_is_gone_is_a_deletion(conversation: Conversation) -> None:
    conversation.make()
    make(conversation.worktree.path / "inner")
    conversation.commit()
    shutil.rmtree(conversation.worktree.path / "inner")
    assert [(each.status, each.path) for each in conversation.commit().changed] == [("D", "inner")]


def test_a_worktree_with_an_inner_repository_is_not_removed_without_a_word(conversation: Conversation) -> None:
    conversation.make()
    make(conversation.worktree.path / "inner")
    conversation.commit()
    with pytest.raises(RepoError) as error:
        remove_worktree(str(conversation.root.path), conversation.branch, Job(), discard=False)
    assert error.value.kind == "dirty" and (conversation.worktree.path / "inner" / "a.txt").exists()


def test_submodules_are_empty_and_that_is_said(with_submodule: Conversation) -> None:
    made = with_submodule.make()
    assert "1 submodule of the repository" in made.notes[0]
    assert list((with_submodule.worktree.path / "sub").iterdir()) == [] and with_submodule.is_clean()
    assert with_submodule.commit().commit == ""


def test_a_file_written_into_an_empty_submodule_is_said(with_submodule: Conversation) -> None:
    """libgit2 would leave it out in silence."""
    with_submodule.make()
    with_submodule.worktree.write("sub/fix.txt", "fix\n")
    with_submodule.worktree.write("a.txt", "two\n")
    answer = with_submodule.commit()
    assert [each.path for each in answer.changed] == ["a.txt"]
    assert [(each.path, each.why) for each in answer.skipped] == [("sub", "1 name in the empty submodule cannot be recorded")]


def test_changes_inside_a_filled_submodule_are_said_and_its_new_commit_recorded(with_submodule: Conversation) -> None:
    with_submodule.make()
    before = root_state(with_submodule.root.path)
    with_submodule.worktree.git("submodule", "-q", "update", "--init")
    sub = Repo(with_submodule.worktree.path / "sub", with_submodule.root.home)
    sub.write("a.txt", "changed inside\n")
    answer = with_submodule.commit()
    assert answer.commit == "" and "1 changed file inside the submodule" in answer.skipped[0].why
    moved = sub.commit()
    answer = with_submodule.commit()
    assert [each.path for each in answer.changed] == ["sub"] and answer.skipped == []
    assert with_submodule.worktree.git("ls-tree", "HEAD", "sub").split()[2] == moved
    after = root_state(with_submodule.root.path)
    assert {name for name in after if after[name] != before.get(name)} <= {".git/config"}  # `submodule update` itself


def test_a_submodules_git_file_that_leads_elsewhere_is_not_followed(with_submodule: Conversation, tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere")
    with_submodule.make()
    with_submodule.worktree.write("sub/.git", f"gitdir: {elsewhere.path}/.git\n")
    with_submodule.worktree.write("sub/x", "x\n")
    answer = with_submodule.commit()
    assert answer.commit == "" and answer.notes == []


def test_a_submodule_may_be_deleted_and_may_not_be_replaced(with_submodule: Conversation) -> None:
    with_submodule.make()
    sub = with_submodule.worktree.path / "sub"
    sub.rmdir()
    sub.write_text("a file now\n")
    answer = with_submodule.commit()
    if answer.commit:  # taken for what it is: a file in the submodule's place
        assert with_submodule.worktree.git("ls-tree", "HEAD", "sub").split()[0] == "100644"
    else:
        assert [each.why for each in answer.skipped] == ["it stands in the place of a submodule"]
    sub.unlink()
    assert [(each.status, each.path) for each in with_submodule.commit().changed] == [("D", "sub")]
