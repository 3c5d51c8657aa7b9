"""Ignored files of the root in a new worktree: linked or copied as asked, never committed, never a way out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from thetis_kernel.repo import marker
from thetis_kernel.repo.diff import diff
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.worktrees import remove_worktree

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import make, root_state

IGNORE = "node_modules/\n.env\n.venv/\nsub/cache/\n"


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    root = make(tmp_path / "r", **{"a.txt": "one\n", ".gitignore": IGNORE, "sub/kept": "kept\n"})
    root.write("node_modules/left-pad/index.js", "pad\n")
    (root.path / "node_modules" / ".bin").mkdir()
    (root.path / "node_modules" / ".bin" / "pad").symlink_to("../left-pad/index.js")
    os.mkfifo(root.path / "node_modules" / "pipe")
    root.write(".env", "KEY=1\n").chmod(0o600)
    root.write("sub/cache/a", "a\n")
    root.write("unfinished", "mine\n")
    return Conversation(root, tmp_path / "state" / "wt")


def test_links_and_copies_stand_in_a_new_worktree_and_the_root_is_untouched(conversation: Conversation) -> None:
    before = root_state(conversation.root.path)
    made = conversation.make(link=["node_modules"], copy=[".env", "sub/cache", "no-such"])
    at = conversation.worktree.path
    assert (made.brought, made.notes) == ([".env", "sub/cache", "node_modules"], [])
    assert made.linked == [str(conversation.root.path / "node_modules")]
    assert os.readlink(at / "node_modules") == str(conversation.root.path / "node_modules")
    assert (at / ".env").read_text() == "KEY=1\n" and (at / ".env").stat().st_mode & 0o777 == 0o600
    assert (at / "sub" / "cache" / "a").read_text() == "a\n" and not (at / "sub" / "cache").is_symlink()
    assert root_state(conversation.root.path) == before


def test_a_copied_directory_keeps_its_links_and_leaves_pipes_out(conversation: Conversation) -> None:
    conversation.make(copy=["node_modules"])
    at = conversation.worktree.path / "node_modules"
    assert os.readlink(at / ".bin" / "pad") == "../left-pad/index.js"
    assert not os.path.lexists(at / "pipe")


def test_what_was_brought_is_never_committed_whatever_happens_to_it(conversation: Conversation) -> None:
    made = conversation.make(link=["node_modules"], copy=[".env"])
    conversation.worktree.write(".gitignore", "")
    conversation.worktree.write(".env", "KEY=2\n")
    conversation.worktree.write(".envelope", "not the same name\n")
    assert [each.path for each in conversation.commit().changed] == [".envelope", ".gitignore"]
    (conversation.worktree.path / "node_modules").unlink()
    conversation.worktree.write("node_modules/own.js", "own\n")
    assert conversation.commit().commit == "", "also after a commit has written the marker anew"
    found = diff(str(conversation.root.path), BRANCH, base=made.base, uncommitted=True)
    assert {each.path for each in found.files} == {".envelope", ".gitignore"}
    assert remove_worktree(str(conversation.root.path), BRANCH, Job(), discard=False).existed, "nothing of it is uncommitted work"
    assert (conversation.root.path / "node_modules" / "left-pad" / "index.js").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("unfinished", "git does not ignore it"),
        ("../secret", "no path inside"),
        ("/etc", "no path inside"),
        (".git", "no path inside"),
        ("sub/.GIT/hooks", "no path inside"),
        ("a.txt", "the branch has something there"),
        ("out/.env", "out is a link"),
    ],
)
def test_what_is_not_brought_is_said(conversation: Conversation, tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".env").write_text("theirs\n")
    (conversation.root.path / "out").symlink_to(tmp_path / "elsewhere")
    conversation.root.git("add", "out")
    conversation.root.git("commit", "-qm", "a link that a clone may bring")
    for way in ("link", "copy"):
        conversation.worktree.path = tmp_path / way
        conversation.branch = f"conv/{way}"
        made = conversation.make(**{way: [name]})
        assert made.brought == []
        assert [note for note in made.notes if why in note], made.notes
    assert os.listdir(tmp_path / "elsewhere") == [".env"]


def test_it_is_brought_again_with_a_worktree_that_was_gone_and_known_when_only_the_record_was(
    conversation: Conversation,
) -> None:
    asked = {"link": ["node_modules"], "copy": [".env"]}
    conversation.make(**asked)
    shutil.rmtree(conversation.worktree.path)
    assert conversation.make(**asked, recorded=True).brought == [".env", "node_modules"]
    shutil.rmtree(conversation.record)
    adopted = conversation.make(**asked, recorded=True)
    assert sorted(adopted.brought) == [".env", "node_modules"] and len(adopted.linked) == 1
    assert conversation.commit().commit == ""


def test_settings_that_change_later_change_no_worktree_that_stands(conversation: Conversation) -> None:
    conversation.make(link=["node_modules"])
    again = conversation.make(link=[], copy=[".env"])
    assert (again.made, again.brought) == (False, ["node_modules"])
    found = marker.read_marker(conversation.record)
    assert found is not None and found.linked == ["node_modules"]
    shutil.rmtree(conversation.root.path / "node_modules")
    assert conversation.make().linked == [], "a link to nothing opens nothing"
