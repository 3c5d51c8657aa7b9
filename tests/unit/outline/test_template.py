"""The template a new tool starts from is itself a working tool."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from pathlib import Path

from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.forge.manifest import parse_manifest
from thetis_kernel.forge.source import read_guest
from thetis_kernel.paths import builtin_root
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.native_guest import native_guest
from tests.support.turns import turn_context

TEMPLATE = builtin_root() / "tools" / "_template"


def renamed(tmp_path: Path, name: str) -> Path:
    """A copy of the template under a new name, as a new tool is made."""
    target = tmp_path / "tools" / name
    shutil.copytree(TEMPLATE, target, ignore=shutil.ignore_patterns("__pycache__"))
    for file in target.iterdir():
        file.write_text(file.read_text().replace('"template"', f'"{name}"'))
    return target


def test_the_template_does_its_work_through_the_sandbox(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "a.txt").write_text("one two\nthree\n")
    with native_guest(renamed(tmp_path, "words"), sandbox_imports(context, "c1")) as guest:
        assert guest.describe().name == "words"
        assert guest.invoke("s1", {"path": "a.txt"}, {"longest": 4}).startswith("a.txt: 2 lines, 3 words, 2 lines longer")


def test_its_own_tests_pass(tmp_path: Path) -> None:
    with native_guest(renamed(tmp_path, "words")):
        tests = importlib.import_module("test_main")
        found = [function for name, function in vars(tests).items() if name.startswith("test_")]
        for function in found:
            function()
    assert len(found) == 3


def test_a_copy_has_a_valid_manifest_and_the_template_itself_is_no_tool(tmp_path: Path) -> None:
    source = read_guest(renamed(tmp_path, "words"), "tool/words")
    assert parse_manifest(source.manifest, "tool/words").config["longest"].default == 120
    assert not any("template" in aspect for aspect in shipped_guests()) and "tool/outline" in shipped_guests()


def test_the_shipped_skills_have_a_front_matter_that_fits() -> None:
    skills = sorted((builtin_root() / "skills").glob("*/SKILL.md"))
    assert skills
    for skill in skills:
        _, front, body = skill.read_text().split("+++\n", 2)
        fields = tomllib.loads(front)
        assert fields["name"] == skill.parent.name and 0 < len(fields["brief"]) <= 200
        assert 0 < len(fields["when_to_use"]) <= 1024 and body.strip().startswith("# ")
