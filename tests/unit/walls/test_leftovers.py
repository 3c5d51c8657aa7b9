"""What a hostile command leaves behind: a replaced `.git`, directories that resist removal, processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel.walls import scratch, tree
from thetis_kernel.walls.gitfile import GitFiles

POINTER = b"gitdir: /repository/.git/worktrees/one\n"


def guarded(tmp_path: Path) -> tuple[Path, GitFiles]:
    git = tmp_path / ".git"
    git.write_bytes(POINTER)
    return git, GitFiles((git,))


def test_an_untouched_git_file_stays_as_it_is(tmp_path: Path) -> None:
    git, guard = guarded(tmp_path)
    inode = git.stat().st_ino

    assert guard.put_back() == []
    assert git.stat().st_ino == inode


def test_a_git_file_that_was_changed_removed_or_replaced_comes_back(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")

    def hostile_directory(git: Path) -> None:
        git.unlink()
        (git / "hooks").mkdir(parents=True)
        (git / "config").write_text("[core]\nfsmonitor = touch /pwned\n")

    def link(git: Path) -> None:
        git.unlink()
        git.symlink_to(victim)

    def link_to_the_same(git: Path) -> None:
        git.symlink_to(git.rename(git.with_name("own")))

    def pipe(git: Path) -> None:
        git.unlink()
        os.mkfifo(git)

    attacks = [
        lambda git: git.write_text("gitdir: /evil"),
        Path.unlink,
        hostile_directory,
        link,
        link_to_the_same,
        pipe,
    ]
    for attack in attacks:
        git, guard = guarded(tmp_path)
        attack(git)

        assert guard.put_back() == [f"{git} was changed by the command and has been put back."]
        assert not git.is_symlink()
        assert git.read_bytes() == POINTER
        assert guard.put_back() == []
        git.unlink()
    assert victim.read_text() == "mine"
    assert [path.name for path in tmp_path.glob(".git-restored-*")] == []


def test_a_root_without_git_gets_none(tmp_path: Path) -> None:
    guard = GitFiles((tmp_path / ".git",))

    assert guard.put_back() == []
    assert not (tmp_path / ".git").exists()


def test_whole_repositories_are_named(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / ".git").symlink_to(tmp_path / "a" / ".git")

    assert GitFiles.directories((tmp_path / "a" / ".git", tmp_path / "b" / ".git")) == [tmp_path / "a" / ".git"]


def test_a_tree_deeper_than_python_recurses_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "deep"
    place.mkdir()
    code = "import os\nfor _ in range(1200):\n    os.mkdir('d'); os.chdir('d')\n"
    subprocess.run([sys.executable, "-c", code], cwd=place, check=True)

    assert scratch.remove(place)


def test_directories_without_permission_are_removed_and_links_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    place = tmp_path / "place"
    (place / "closed" / "inner").mkdir(parents=True)
    (place / "link").symlink_to(outside)
    (place / "closed").chmod(0)

    assert scratch.remove(place)
    assert (outside / "file").read_text() == "mine"
    assert oct(outside.stat().st_mode & 0o777) != "0o0"


def test_the_name_of_a_process_cannot_confuse_the_walk() -> None:
    code = (
        "import ctypes, os\n"
        "ctypes.CDLL(None).prctl(15, b') Z 1 (x')\n"  # PR_SET_NAME
        "print(os.getpid(), flush=True); input()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())

        assert tree.parents()[pid] == os.getpid()
        assert pid in tree.descendants(os.getpid())
        assert tree.threads(below=os.getpid()) >= 1
        child.communicate(b"\n")

    assert pid not in tree.parents()


def test_the_machines_threads_are_counted() -> None:
    assert tree.threads() > 0


def test_without_proc_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "PROC", str(tmp_path / "none"))

    assert tree.parents() == {}
    assert tree.threads() == 0
