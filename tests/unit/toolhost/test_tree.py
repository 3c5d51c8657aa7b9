"""The one resolver: nothing outside the checkout, the workspace and the spill is reached by any name."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.toolhost.tree import PathError, Tree

SECRET = "outside the walls"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name in ("wt", "ws", "spill", "wt-evil"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "wt-evil" / "secret.txt").write_text(SECRET)
    (tmp_path / "wt" / "a.txt").write_text("inside\n")
    (tmp_path / "wt" / "dir").mkdir()
    return Tree(tmp_path / "wt", tmp_path / "ws", tmp_path / "spill")


@pytest.mark.parametrize("path", [
    "../secret.txt", "dir/../../secret.txt", "/etc/passwd", "link", "linkdir/secret.txt", "/proc/self/root/etc/passwd",
    "/workspace/../secret.txt", "../wt-evil/secret.txt", "chain/secret.txt", "./../secret.txt", "dir/./../../secret.txt",
])
def test_escapes_are_refused(tree: Tree, tmp_path: Path, path: str) -> None:
    (tmp_path / "wt" / "link").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "wt" / "linkdir").symlink_to(tmp_path)
    (tmp_path / "wt" / "hop").symlink_to("linkdir")
    (tmp_path / "wt" / "chain").symlink_to("hop")
    with pytest.raises(ThetisError):
        tree.read_bytes(path, 1000)
    with pytest.raises(ThetisError):
        tree.write_text(path, "overwritten")
    assert (tmp_path / "secret.txt").read_text() == SECRET
    assert (tmp_path / "wt-evil" / "secret.txt").read_text() == SECRET


def test_a_prefix_sibling_is_outside(tree: Tree, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        tree.read_bytes(str(tmp_path / "wt-evil" / "secret.txt"), 1000)


def test_links_inside_are_followed(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "wt" / "alias.txt").symlink_to("a.txt")
    assert tree.read_bytes("alias.txt", 1000) == b"inside\n"
    tree.write_text("alias.txt", "new")
    assert (tmp_path / "wt" / "a.txt").read_text() == "new"
    assert (tmp_path / "wt" / "alias.txt").is_symlink()


def test_absolute_path_of_the_checkout_is_the_checkout(tree: Tree, tmp_path: Path) -> None:
    assert tree.read_bytes(str(tmp_path / "wt" / "a.txt"), 1000) == b"inside\n"
    assert tree.shown(str(tmp_path / "wt" / "a.txt")) == "a.txt"


def test_writes_keep_mode_make_parents_and_leave_no_scrap(tree: Tree, tmp_path: Path) -> None:
    script = tmp_path / "wt" / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert tree.write_text("run.sh", "#!/bin/sh\necho\n") is False
    assert script.stat().st_mode & 0o777 == 0o755
    assert tree.write_text("x/y/z.txt", "deep") is True
    assert (tmp_path / "wt" / "x" / "y" / "z.txt").read_text() == "deep"
    assert not list((tmp_path / "wt").rglob(".thetis-*"))


@pytest.mark.parametrize("path", [".git", ".git/config", ".GIT/hooks/pre-commit", "sub/.git/config"])
def test_git_is_never_written(tree: Tree, path: str) -> None:
    with pytest.raises(Refused):
        tree.write_text(path, "x")


def test_spill_is_read_only_and_workspace_is_not(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "spill" / "c.txt").write_text("long")
    assert tree.read_bytes("/spill/c.txt", 1000) == b"long"
    with pytest.raises(Refused):
        tree.write_text("/spill/c.txt", "x")
    tree.write_text("/workspace/note.txt", "kept")
    assert (tmp_path / "ws" / "note.txt").read_text() == "kept"


def test_odd_files_are_named_not_opened(tree: Tree, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "wt" / "pipe")
    with pytest.raises(PathError, match="not a regular file"):
        tree.read_bytes("pipe", 1000)
    with pytest.raises(PathError, match="is a directory"):
        tree.read_bytes("dir", 1000)
    with pytest.raises(PathError, match="is a directory"):
        tree.write_text("dir", "x")
    with pytest.raises(PathError, match="does not exist"):
        tree.read_bytes("nothing", 1000)


@given(st.lists(st.sampled_from(["..", ".", "", "dir", "a.txt", "link", "loop", "/", "workspace"]), max_size=8).map("/".join))
def test_no_combination_of_parts_leaves(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    base = tmp_path_factory.mktemp("t")
    for name in ("wt", "ws", "spill"):
        (base / name).mkdir()
    (base / "wt" / "dir").mkdir()
    (base / "wt" / "a.txt").write_text("inside")
    (base / "a.txt").write_text(SECRET)
    (base / "wt" / "link").symlink_to("..")
    (base / "wt" / "loop").symlink_to("loop")
    tree = Tree(base / "wt", base / "ws", base / "spill")
    try:
        found = tree.read_bytes(path, 1000)
    except ThetisError:
        return
    assert found == b"inside"


def test_a_directory_swapped_for_a_link_does_not_let_out(tree: Tree, tmp_path: Path) -> None:
    """Complaints: TOCTOU in edits. A thread swaps dir <-> link to the outside while we read and write through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text(SECRET)
    real, swap, victim = tmp_path / "wt" / "real", tmp_path / "wt" / "swap", tmp_path / "wt" / "victim"
    real.mkdir()
    (real / "f.txt").write_text("inside")
    swap.symlink_to(outside)
    victim.symlink_to("real")
    stop = threading.Event()

    def swapper() -> None:
        flip = False
        while not stop.is_set():
            scratch = tmp_path / "wt" / "scratch"
            scratch.symlink_to(outside if flip else "real")
            scratch.replace(victim)
            flip = not flip

    thread = threading.Thread(target=swapper)
    thread.start()
    refused = 0
    try:
        for _ in range(3000):
            try:
                assert tree.read_bytes("victim/f.txt", 1000) != SECRET.encode()
                tree.write_text("victim/g.txt", "x")
            except ThetisError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert refused > 0  # else the race was never there
    assert sorted(p.name for p in outside.iterdir()) == ["f.txt"]
