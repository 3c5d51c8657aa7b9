"""Roots and their state directories: never two roots in one place, never a root by accident."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import RootError
from thetis_kernel.paths import builtin_root, root_paths, runtimes_dir, state_home
from thetis_kernel.roots import find_root


def test_shipped_data_is_found() -> None:
    for part in ("wit/thetis.wit", "guest", "aspects", "tools", "skills"):
        assert (builtin_root() / part).exists(), part


@given(st.sampled_from(["a/b", "a-b", "a b", "A/B", "a_b", "ä/b"]), st.sampled_from(["a/b", "a-b", "a b", "A/B", "a_b", "ä/b"]))
def test_two_roots_never_share_state(one: str, other: str) -> None:
    """Complaints 28: paths that sanitise alike shared sessions."""
    first, second = root_paths(Path("/r") / one, {"HOME": "/h"}), root_paths(Path("/r") / other, {"HOME": "/h"})
    assert (first.base == second.base) == (one == other)


def test_ways_to_one_root_meet(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    assert root_paths(tmp_path / "real").base == root_paths(tmp_path / "alias").base


def test_directories_are_private(tmp_path: Path) -> None:
    paths = root_paths(tmp_path / "r", {"THETIS_STATE": str(tmp_path / "s")})
    paths.make()
    for directory in (paths.base, paths.data, paths.artifacts, paths.worktrees, paths.workspace, paths.spill):
        assert directory.stat().st_mode & 0o777 == 0o700


def test_the_environment_decides_as_the_standard_says() -> None:
    assert state_home({"XDG_STATE_HOME": "/x", "HOME": "/h"}) == Path("/x/thetis")
    assert state_home({"XDG_STATE_HOME": "relative", "HOME": "/h"}) == Path("/h/.local/state/thetis")
    assert runtimes_dir({"THETIS_RUNTIMES": "/rt", "HOME": "/h"}) == Path("/rt")


def test_socket_paths_stay_short(tmp_path: Path) -> None:
    assert len(str(root_paths(tmp_path / ("long" * 60)).socket.name)) < 20


def test_a_long_runtime_directory_is_not_where_the_socket_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert root_paths(tmp_path).socket.parent == Path(f"/tmp/thetis-{os.getuid()}/thetis")


def test_the_nearest_marker_upward_is_the_root(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "pkg" / "deep").mkdir(parents=True)
    assert find_root(repo / "pkg" / "deep") == repo.resolve()
    (repo / "pkg" / "thetis.toml").write_text("")
    assert find_root(repo / "pkg" / "deep") == (repo / "pkg").resolve()


@pytest.mark.parametrize("kind", ["not-a-repository", "home", "missing"])
def test_what_cannot_be_a_root_says_why(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = tmp_path / "d"
    if kind != "missing":
        start.mkdir()
    if kind == "home":
        (start / ".git").mkdir()
        monkeypatch.setenv("HOME", str(start))
    with pytest.raises(RootError) as caught:
        find_root(start)
    assert caught.value.kind == kind and caught.value.hint
