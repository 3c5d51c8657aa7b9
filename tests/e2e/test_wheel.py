"""The built wheel, installed where no checkout is in sight, works as the checkout does: data, version, and a turn."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from thetis_kernel.paths import builtin_root
from thetis_kernel.wasm.keys import WORLDS, runtime_key

from tests.support import environments
from tests.support.thetis import World, answer, fingerprint, kinds

TOP = Path(__file__).resolve().parents[2]
DATA = ("wit", "guest", "aspects", "tools", "skills")
VERSION = metadata.version("thetis-tui")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(TOP)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = environments.bare(tmp_path_factory.mktemp("installed") / "venv")
    environments.install(found, wheel)
    return found


def tells(python: Path, value: str) -> object:
    """What an expression is (as JSON) in the installed environment, away from the checkout."""
    code = f"import json; from thetis_kernel import paths; from thetis_kernel.wasm import keys; print(json.dumps({value}))"
    done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, check=True, cwd=python.parent)
    return json.loads(done.stdout)


def test_the_wheel_holds_what_ships_and_nothing_else(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in inside if name.startswith("thetis_kernel/builtin/")}
    tracked = subprocess.run(["git", "ls-files", "-z", *DATA], cwd=TOP, capture_output=True, text=True, check=True).stdout
    assert {f"thetis_kernel/builtin/{name}" for name in tracked.split("\0") if name} <= shipped
    assert not [name for name in inside if "__pycache__" in name or name.startswith(("tests/", "bench/", "docs/"))]
    assert {name.split("/")[0] for name in inside} == {"thetis_kernel", "thetis_tui", f"thetis_tui-{VERSION}.dist-info"}
    assert {"thetis_tui/thetis.tcss", "thetis_kernel/py.typed", "thetis_tui/py.typed"} <= inside


def test_its_data_are_found_and_are_the_checkouts(python: Path) -> None:
    root = Path(str(tells(python, "str(paths.builtin_root())")))
    assert root.is_relative_to(python.parent.parent) and not root.is_relative_to(TOP)
    for directory in DATA:
        for file in sorted((builtin_root() / directory).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                assert (root / file.relative_to(builtin_root())).read_bytes() == file.read_bytes(), file


def test_it_uses_the_runtimes_the_checkout_built(python: Path) -> None:
    assert tells(python, "[keys.runtime_key(world) for world in keys.WORLDS]") == [runtime_key(world) for world in WORLDS]


def test_its_version_is_the_projects(python: Path, tmp_path: Path) -> None:
    command = [str(python.with_name("thetis")), "--version"]
    assert VERSION in subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout


@pytest.mark.runtimes
def test_a_turn_from_it_in_a_foreign_repository(python: Path, tmp_path: Path) -> None:
    world = World(tmp_path, str(python.with_name("thetis")))
    world.make_repository({"README.md": "# Lighthouse\n\nIt shines.\n", "src/lamp.py": "WATTS = 1000\n"})
    before = fingerprint(world.repository)
    events = world.events("what is in this repository?")
    assert kinds(events)[-1] == "turn-finished" and events[-1]["body"]["stopped_by"] == "stop"
    assert "Lighthouse" in answer(events)
    assert fingerprint(world.repository) == before
