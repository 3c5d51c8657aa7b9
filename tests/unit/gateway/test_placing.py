"""Where a root's state lies: by a person's word, by a trusted root's, and where it lay before."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from thetis_kernel.config.settings import Paths
from thetis_kernel.errors import ConfigError
from thetis_kernel.gateway.placing import NOTE, placed, take
from thetis_kernel.paths import RootPaths, root_paths


@pytest.fixture
def paths(tmp_path: Path) -> RootPaths:
    root = tmp_path / "repo"
    root.mkdir()
    return root_paths(root, {"THETIS_STATE": str(tmp_path / "state")})


def test_without_a_word_all_is_in_the_state_directory_and_nothing_is_noted(paths: RootPaths) -> None:
    found = take(paths, Paths())
    assert (found.data, found.worktrees) == (paths.base / "data", paths.base / "worktrees")
    assert found.data.is_dir() and not (paths.base / NOTE).exists()


def test_a_persons_directory_holds_one_of_its_own_for_each_root(paths: RootPaths, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    found = take(paths, Paths(worktrees=str(disk)))
    assert found.worktrees == disk / paths.base.name and found.worktrees.stat().st_mode & 0o777 == 0o700
    assert found.data == paths.base / "data" and not (found.worktrees / ".gitignore").exists()
    other = tmp_path / "other" / "repo"
    other.mkdir(parents=True)
    theirs = take(root_paths(other, {"THETIS_STATE": str(tmp_path / "state")}), Paths(worktrees=str(disk)))
    assert theirs.worktrees != found.worktrees


def test_a_roots_own_is_inside_it_and_git_ignores_it(paths: RootPaths) -> None:
    found = take(paths, Paths(worktrees="worktrees", data=".thetis/data"))
    assert (found.worktrees, found.data) == (paths.root / "worktrees", paths.root / ".thetis" / "data")
    assert (found.worktrees / ".gitignore").read_text() == "*\n"
    (found.worktrees / "conv-1").mkdir()
    assert take(paths, Paths(worktrees="worktrees", data=".thetis/data")) == found, "the second start finds its own"


@pytest.mark.parametrize("value", ["../out", "a/../../out", ".git/x", ".GIT", ".", "a//b", "link/x"])
def test_what_leaves_the_root_or_meets_gits_own_is_refused(paths: RootPaths, tmp_path: Path, value: str) -> None:
    (tmp_path / "out").mkdir()
    (paths.root / "link").symlink_to(tmp_path / "out")
    with pytest.raises(ConfigError) as refused:
        take(paths, Paths(worktrees=value))
    assert refused.value.data["key"] == "paths.worktrees" and list((tmp_path / "out").iterdir()) == []


def test_a_directory_that_holds_something_else_is_not_taken(paths: RootPaths) -> None:
    (paths.root / "src").mkdir()
    (paths.root / "src" / "main.py").write_text("mine")
    with pytest.raises(ConfigError, match="holds something else"):
        take(paths, Paths(data="src"))
    assert not (paths.root / "src" / ".gitignore").exists()


def test_a_place_stays_when_the_word_for_it_is_not_believed_any_more(paths: RootPaths) -> None:
    first = take(paths, Paths(data="log", worktrees="wt"))
    (first.data / "thetis.db").write_text("events")
    assert placed(paths, Paths()).data == first.data and take(paths, Paths()).worktrees == first.worktrees
    assert placed(paths, Paths()) == placed(placed(paths, Paths()), Paths())


@pytest.mark.parametrize("name", ["data", "worktrees", "workspace"])
def test_what_is_there_is_never_left_behind(paths: RootPaths, tmp_path: Path, name: str) -> None:
    old = take(paths, Paths())
    there: Path = getattr(old, name)
    (there / "kept").write_text("x")
    wanted = msgspec.convert({name: str(tmp_path / "disk")}, Paths)
    with pytest.raises(ConfigError) as refused:
        take(paths, wanted)
    assert str(there) in refused.value.message and "Nothing was changed" in refused.value.hint
    (tmp_path / "disk").mkdir()
    there.rename(tmp_path / "disk" / paths.base.name)
    assert (getattr(take(paths, wanted), name) / "kept").read_text() == "x", "moved by the person, found there"
    assert getattr(placed(paths, Paths()), name) == tmp_path / "disk" / paths.base.name


def test_bundles_are_made_again_so_they_may_be_left(paths: RootPaths, tmp_path: Path) -> None:
    (take(paths, Paths()).artifacts / "one").write_text("x")
    assert take(paths, Paths(artifacts=str(tmp_path / "disk"))).artifacts == tmp_path / "disk" / paths.base.name


def test_a_note_that_cannot_be_read_is_said_and_no_second_log_is_begun(paths: RootPaths) -> None:
    take(paths, Paths(data="log"))
    (paths.base / NOTE).write_text("{")
    with pytest.raises(ConfigError, match=NOTE):
        take(paths, Paths())
