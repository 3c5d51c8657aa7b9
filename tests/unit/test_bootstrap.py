"""`scripts/bootstrap` says in a sentence what a machine lacks, and makes an environment again only when it must."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

# A python that is a shell script: what it says of itself, and what its pip does, are the case's.
PYTHON = """#!/bin/sh
echo "$*" >>"{calls}"
case "$*" in
  --version) echo "Python {version}"; exit 0 ;;
  *version_info*) exit {too_old} ;;
  *ensurepip*) exit {no_venv} ;;
  *sys.version*) echo "{version} (fake)" ; exit 0 ;;
  "-m venv"*)
    [ {venv_fails} = 0 ] || {{ echo "Error: no space" >&2; exit 1; }}
    for last; do :; done
    rm -rf "$last"; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; : >"$last/pyvenv.cfg"; exit 0 ;;
  "-m pip"*) echo "{pip_says}" >&2; exit {pip_fails} ;;
esac
exit 9
"""
GOOD = {"version": "3.12.1", "too_old": 0, "no_venv": 0, "venv_fails": 0, "pip_fails": 0, "pip_says": ""}


class Machine:
    """A checkout of the few files the script reads, and a PATH with nothing but the basic tools and the fake."""

    def __init__(self, base: Path) -> None:
        self.top = base / "checkout"
        (self.top / "scripts").mkdir(parents=True)
        for name in ("scripts/bootstrap", "requirements.lock", "pyproject.toml"):
            shutil.copy2(TOP / name, self.top / name)
        self.bin = base / "bin"
        self.bin.mkdir()
        for tool in ("sh", "cat", "cksum", "dirname", "grep", "tail", "mkdir", "cp", "rm"):
            (self.bin / tool).symlink_to(str(shutil.which(tool)))
        self.calls = base / "calls"

    def python(self, **case: object) -> None:
        """Put the fake on PATH."""
        script = self.bin / "python3"
        script.write_text(PYTHON.format(calls=self.calls, **{**GOOD, **case}))
        script.chmod(0o755)

    def run(self, **environ: str) -> tuple[int, str]:
        """Run the script: exit status and what it says. `calls` then holds what it asked of python."""
        self.calls.write_text("")
        done = subprocess.run([str(self.bin / "sh"), str(self.top / "scripts" / "bootstrap")], capture_output=True, text=True,
                              check=False, env={"PATH": str(self.bin), **environ}, cwd=self.bin)
        return done.returncode, done.stderr

    def asked(self, what: str) -> bool:
        return what in self.calls.read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_no_python_at_all(machine: Machine) -> None:
    status, said = machine.run()
    assert status == 2
    assert said == "thetis: python3 is not installed. Install Python 3.11 or later, or name one: make PYTHON=python3.12\n"


def test_another_python_is_named(machine: Machine) -> None:
    machine.python()
    status, said = machine.run(PYTHON="python3.99")
    assert status == 2 and "python3.99 is not installed" in said


@pytest.mark.parametrize(("case", "sentence"), [
    ({"version": "3.9.2", "too_old": 1}, "Python 3.9.2 is too old. Thetis needs Python 3.11 or later"),
    ({"no_venv": 1}, "This Python has no venv module. On Debian and Ubuntu: apt install python3-venv"),
    ({"venv_fails": 1}, ".venv could not be made"),
    ({"pip_fails": 1, "pip_says": "error: command 'gcc' failed: No such file or directory"}, "apt install build-essential"),
    ({"pip_fails": 1, "pip_says": "fatal error: Python.h: No such file or directory"}, "apt install build-essential"),
    ({"pip_fails": 1, "pip_says": "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"}, "the whole log is in .venv/install.log"),
    ({"pip_fails": 1, "pip_says": "No module named pip"}, "the whole log is in .venv/install.log"),
], ids=["too-old", "no-venv", "no-space", "no-compiler", "no-headers", "wrong-hash", "no-pip"])
def test_what_is_missing_is_said(machine: Machine, case: dict[str, object], sentence: str) -> None:
    machine.python(**case)
    status, said = machine.run()
    assert status == 2
    assert sentence in said.splitlines()[-1]
    assert str(case.get("pip_says", "")) in said
    assert machine.run()[0] == 2, "a failure is not taken for a finished environment"


def test_once_is_enough(machine: Machine) -> None:
    machine.python()
    assert machine.run()[0] == 0 and machine.asked("--require-hashes -r requirements.lock")
    assert machine.run() == (0, "") and not machine.asked("-m venv") and not machine.asked("-m pip")


def test_a_changed_lock_installs_into_the_same_environment(machine: Machine) -> None:
    machine.python()
    machine.run()
    (machine.top / "requirements.lock").write_text("changed")
    assert machine.run()[0] == 0 and machine.asked("-m pip") and not machine.asked("-m venv")


def test_another_python_or_place_makes_a_new_environment(machine: Machine) -> None:
    machine.python()
    machine.run()
    machine.python(version="3.13.0")
    assert machine.run()[0] == 0 and machine.asked("-m venv --clear .venv")
    moved = machine.top.with_name("moved")
    machine.top.rename(moved)
    machine.top = moved
    assert machine.run()[0] == 0 and machine.asked("-m venv --clear .venv")


def test_an_interrupted_environment_is_made_again(machine: Machine) -> None:
    machine.python(pip_fails=1)
    machine.run()
    machine.python()
    assert machine.run()[0] == 0 and machine.asked("-m venv --clear .venv")


def test_a_directory_of_somebody_else_is_left_alone(machine: Machine) -> None:
    machine.python()
    other = machine.top / "precious"
    other.mkdir()
    (other / "thesis.txt").write_text("years")
    status, said = machine.run(VENV="precious")
    assert status == 2 and "precious is in the way" in said
    assert os.listdir(other) == ["thesis.txt"]
