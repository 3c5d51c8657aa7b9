"""Reliability S3: another process swaps a directory for a link to the outside, all the time, while paths are resolved.

The same race is run with a plain `open` first: it has to escape, or the race was none.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.tree import Tree

from tests.support.swapping import swapping

SECRET = b"outside the walls"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name in ("wt", "ws", "spill", "outside", "wt/victim"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "f.txt").write_bytes(SECRET)
    (tmp_path / "wt" / "victim" / "f.txt").write_text("inside")
    (tmp_path / "wt" / "trap").symlink_to(tmp_path / "outside")
    return Tree(tmp_path / "wt", tmp_path / "ws", tmp_path / "spill")


def race(tree: Tree, outside: Path, rounds: int) -> None:
    plain = escaped = read = refused = 0
    with swapping(tree.worktree):
        while not plain:
            plain += (tree.worktree / "victim" / "f.txt").read_bytes() == SECRET
        for number in range(rounds):
            try:
                found = tree.read_bytes("victim/f.txt", 100)
                read += 1
                escaped += found == SECRET
            except ThetisError:
                refused += 1
            if number % 50 == 0:
                with contextlib.suppress(ThetisError):
                    tree.write_text(f"victim/new-{number % 500}/g.txt", "x")
                with contextlib.suppress(ThetisError):
                    tree.write_text("victim/f.txt", "inside")
    assert escaped == 0
    assert read > rounds / 100 and refused > rounds / 100
    assert [p.name for p in outside.iterdir()] == ["f.txt"]
    assert (outside / "f.txt").read_bytes() == SECRET


def test_a_short_race(tree: Tree, tmp_path: Path) -> None:
    race(tree, tmp_path / "outside", 20_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_million_races(tree: Tree, tmp_path: Path) -> None:
    race(tree, tmp_path / "outside", 1_000_000)
