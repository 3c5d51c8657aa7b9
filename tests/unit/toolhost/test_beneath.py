"""How a path is opened: the fallback follows no link, a busy kernel is asked again, `.git` is known by its descriptor."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.toolhost import beneath
from thetis_kernel.toolhost.tree import PathError, Tree


class Saying:
    """A libc whose openat2 fails with `number` the first `times` calls."""

    def __init__(self, number: int, times: int) -> None:
        self.number, self.times, self.asked = number, times, 0
        self._real = ctypes.CDLL(None, use_errno=True)

    def syscall(self, *arguments: Any) -> int:
        self.asked += 1
        if self.asked <= self.times:
            ctypes.set_errno(self.number)
            return -1
        found: int = self._real.syscall(*arguments)
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name in ("wt", "ws", "spill"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "wt" / "dir").mkdir()
    (tmp_path / "wt" / "dir" / "a.txt").write_text("inside")
    (tmp_path / "wt" / "link").symlink_to("dir")
    (tmp_path / "wt" / "out.txt").symlink_to("../secret.txt")
    return Tree(tmp_path / "wt", tmp_path / "ws", tmp_path / "spill")


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_openat2_no_link_is_followed(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(beneath, "_libc", Saying(number, 10**9))
    assert tree.read_bytes("dir/a.txt", 100) == b"inside"
    tree.write_text("dir/b.txt", "new")
    assert (tmp_path / "wt" / "dir" / "b.txt").read_text() == "new"
    for path in ("link/a.txt", "out.txt", "dir/../dir/a.txt", "../secret.txt"):
        with pytest.raises(ThetisError):
            tree.read_bytes(path, 100)
        with pytest.raises(ThetisError):
            tree.real(path)
        with pytest.raises(ThetisError):
            tree.write_text(path, "x")
    assert (tmp_path / "secret.txt").read_text() == "outside"


def test_a_busy_kernel_is_asked_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "_libc", Saying(errno.EAGAIN, 3))
    assert tree.read_bytes("dir/../dir/a.txt", 100) == b"inside"


def test_but_not_for_ever(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Saying(errno.EAGAIN, 10**9)
    monkeypatch.setattr(beneath, "_libc", busy)
    with pytest.raises(PathError):
        tree.read_bytes("dir/a.txt", 100)
    assert busy.asked < 100


@pytest.mark.parametrize("path", ["way/hooks/post-checkout", "way/config", "deep/way/new/file"])
def test_git_is_not_written_through_a_link(tree: Tree, tmp_path: Path, path: str) -> None:
    """Reliability S9: a link to `.git`, and a file in it that is not there yet."""
    (tmp_path / "wt" / "sub" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "wt" / "way").symlink_to("sub/.git")
    (tmp_path / "wt" / "deep").mkdir()
    (tmp_path / "wt" / "deep" / "way").symlink_to("../sub/.git")
    with pytest.raises(Refused, match="belongs to git"):
        tree.write_text(path, "#!/bin/sh\n")
    assert [p for p in (tmp_path / "wt" / "sub" / ".git").rglob("*") if p.is_file()] == []


def test_no_descriptor_is_left(tree: Tree) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in ("out.txt", "nothing", "dir", "dir/a.txt", "link/nothing", "../x"):
        for act in (lambda p: tree.read_bytes(p, 100), lambda p: tree.write_text(p + "/sub/x", "y"), tree.real):
            try:
                act(path)
            except ThetisError:
                continue
    assert len(os.listdir("/proc/self/fd")) == before
