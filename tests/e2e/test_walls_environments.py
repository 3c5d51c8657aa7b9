"""Python's virtual environments inside the walls, however they were made: the interpreter runs, packages are found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from thetis_kernel.walls import toolchains
from thetis_kernel.walls.tier import Tier

from tests.support.walls import Bench, bench, every_wall

__all__ = ["bench"]

BASE = Path(getattr(sys, "_base_executable", sys.executable))
"""The interpreter this one's environment was made from."""


def make(python: Path, place: Path, *options: str) -> Path:
    subprocess.run([python, "-I", "-m", "venv", "--without-pip", *options, place], check=True, capture_output=True)
    return place


def linked(place: Path, target: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return place


def by_links(place: Path) -> Path:
    return make(BASE, place / "venv")


def by_copies(place: Path) -> Path:
    return make(BASE, place / "venv", "--copies")


def by_a_link_to_a_link(place: Path) -> Path:
    first = linked(place / "one" / "python3", BASE)
    return make(linked(place / "two" / "python3", first), place / "venv")


def by_a_linked_version(place: Path) -> Path:
    versions = linked(place / "versions" / "3", Path(sys.base_prefix))
    return make(versions / "bin" / BASE.name, place / "venv")


def in_a_linked_place(place: Path) -> Path:
    (place / "disk" / "code").mkdir(parents=True)
    return make(BASE, linked(place / "code", place / "disk" / "code") / "venv")


def in_a_repository(place: Path) -> Path:
    subprocess.run(["git", "init", "-q", place / "root"], check=True)
    return make(BASE, place / "root" / ".venv")


def by_uv(place: Path) -> Path:
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is not in this environment")
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "UV_CACHE_DIR": str(place / "cache")}
    words: list[str | Path] = [uv, "venv", "-q", "--no-config", "--offline", "--python", BASE, place / "venv"]
    subprocess.run(words, check=True, env=environment)
    return place / "venv"


MAKERS = [by_links, by_copies, by_a_link_to_a_link, by_a_linked_version, in_a_linked_place, in_a_repository, by_uv]


@every_wall
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_an_environment_works(maker: Callable[[Path], Path], tier: Tier, bench: Bench) -> None:
    venv = maker(bench.outside)
    (packages,) = venv.glob("lib/python3*/site-packages")
    (packages / "only_here.py").write_text("NAME = 'only here'\n")
    script = venv / "bin" / "tool"
    script.write_text(f"#!{venv}/bin/python\nimport only_here, sys\nprint(only_here.NAME, sys.version_info[:2])\n")
    script.chmod(0o755)
    found = toolchains.find(f"{venv / 'bin'}:{os.environ['PATH']}", Path.home())

    result = bench.run(
        tier,
        "python -c 'import only_here, sys, sqlite3, _ctypes; print(only_here.NAME, sys.version_info[:2])'; tool",
        toolchains=found,
    )

    assert result.output == f"only here {sys.version_info[:2]}\n" * 2
