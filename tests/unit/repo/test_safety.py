"""Named pipes where git looks for rules: no request waits on one for ever."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo import safety
from thetis_kernel.repo.diff import diff

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import driven, make


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safety, "STILL", 0.2)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "d/.gitignore", "new/deep/.gitignore", "d/.gitattributes"])
@pytest.mark.parametrize("through", ["pipe", "link"])
def test_a_pipe_an_agent_puts_in_the_place_of_rules_is_said(
    name: str, through: str, conversation: Conversation, tmp_path: Path
) -> None:
    conversation.make()
    path = conversation.worktree.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if through == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    conversation.worktree.write("d/b.txt", "two\n")
    conversation.worktree.write("a.txt", "two\n")
    try:
        answer = conversation.commit()
    except RepoError as error:
        assert error.kind == "special-file" and name in error.message
        with pytest.raises(RepoError):
            diff(str(conversation.root.path), BRANCH, uncommitted=True)
    else:
        assert {"a.txt", "d/b.txt"} <= {each.path for each in answer.changed}  # git does not look there, so neither did we wait
    path.unlink()
    conversation.worktree.write("a.txt", "three\n")
    assert "a.txt" in [each.path for each in conversation.commit().changed]


def test_a_pipe_in_the_root_is_said_too(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"a.txt": "1\n", "d/b.txt": "2\n"})
    os.mkfifo(root.path / "d" / ".gitignore")
    answer = driven("count", str(root.path), home=root.home)
    assert answer["error"] == "special-file" and "d/.gitignore is a named pipe" in answer["message"]
    assert Conversation(root, tmp_path / "wt").make().made  # a worktree needs nothing of it


@pytest.mark.timeout(20)
def test_a_slow_call_is_no_stuck_call(tmp_path: Path) -> None:
    """Without pipes nothing is raised however long the body takes, and pipes nobody waits on are left alone."""
    os.mkfifo(tmp_path / "other")
    with safety.unstuck(tmp_path) as beat:
        for _ in range(5):
            threading.Event().wait(0.15)
            beat()
        threading.Event().wait(0.5)
