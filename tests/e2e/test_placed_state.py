"""A root whose log, worktrees and workspace lie where [paths] says: the same conversations, and nothing of it in git."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.thetis import World, answer, kinds

pytestmark = pytest.mark.runtimes


def config(world: World, text: str) -> str:
    file = world.base / "config.toml"
    file.write_text(text)
    return str(file)


def test_a_trusted_root_keeps_its_state_inside_and_git_sees_none_of_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\nnonce-4711\n",
                           "thetis.toml": "[paths]\nworktrees = 'wt'\ndata = '.thetis/data'\nworkspace = 'ws'\n"})
    world.run("run", "search nonce-4711")
    assert not (world.repository / "wt").exists(), "nobody trusts it yet"
    other = World(tmp_path / "b")
    other.make_repository({"README.md": "# Test\nnonce-4711\n",
                           "thetis.toml": "[paths]\nworktrees = 'wt'\ndata = '.thetis/data'\nworkspace = 'ws'\n"})
    other.run("trust", "--yes")
    found = other.events("search nonce-4711")
    assert "README.md:2: nonce-4711" in answer(found) and kinds(found)[-1] == "turn-finished"
    other.run("run", "create notes.txt with hello")
    assert other.git("status", "--porcelain", "--untracked-files=all") == ""
    [worktree] = [one for one in (other.repository / "wt").glob("conv-*") if (one / "notes.txt").exists()]
    assert (worktree / "notes.txt").read_text().strip() == "hello"
    assert list((other.repository / ".thetis" / "data").glob("*.db"))
    other.write({"README.md": "# Changed\n"})
    assert len(other.run("ls").stdout.splitlines()) == 2
    other.run("trust", "--revoke")
    assert len(other.run("ls").stdout.splitlines()) == 2, "a place stays while its setting is not believed"


def test_a_persons_own_place_and_what_is_said_when_it_changes_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    there = config(world, f"[paths]\nworktrees = '{tmp_path}/disk'\n")
    world.run("run", "create a.txt with 1", THETIS_CONFIG=there)
    assert [one.name for one in (tmp_path / "disk").rglob("a.txt")] == ["a.txt"]
    moved = config(world, f"[paths]\nworktrees = '{tmp_path}/other'\n")
    refused = world.run("ls", check=False, THETIS_CONFIG=moved)
    assert refused.returncode == 2 and "the worktrees of this root" in refused.stderr and "git worktree repair" in refused.stderr
    assert not (tmp_path / "other").exists()
    assert len(world.run("ls", THETIS_CONFIG=config(world, "")).stdout.splitlines()) == 1
