"""A search's view: the tree it searches and the machine's programs; a link that leads elsewhere leads nowhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from thetis_kernel.walls import reading
from thetis_kernel.walls.probe import find_bubblewrap, find_landlock
from thetis_kernel.walls.tier import Tier


@pytest.fixture(params=["bubblewrap", "landlock"])
def tier(request: pytest.FixtureRequest) -> Tier:
    found = find_bubblewrap()[0] if request.param == "bubblewrap" else find_landlock()[0]
    if found is None:
        pytest.skip(f"this machine has no {request.param}")
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "wt").mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "wt" / "a.txt").write_text("inside")
    (tmp_path / "wt" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return tmp_path / "wt"


def run(tier: Tier, base: Path, *program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(reading.argv(tier, base, program), cwd=base, env={}, capture_output=True, text=True, timeout=60)


def test_the_tree_is_read_and_nothing_else(tier: Tier, base: Path) -> None:
    assert run(tier, base, "/bin/cat", "a.txt").stdout == "inside"
    for path in ("link.txt", "../secret.txt", str(base.parent / "secret.txt"), "/etc/passwd", "/proc/self/environ"):
        found = run(tier, base, "/bin/cat", path)
        assert (found.returncode, found.stdout) == (1, ""), path


def test_nothing_is_written(tier: Tier, base: Path) -> None:
    assert run(tier, base, "/bin/cp", "a.txt", "b.txt").returncode != 0
    assert not (base / "b.txt").exists()


def test_without_walls_the_program_is_itself(base: Path) -> None:
    assert reading.argv(Tier(name="none", sentence=""), base, ["/bin/cat", "a"]) == ["/bin/cat", "a"]
