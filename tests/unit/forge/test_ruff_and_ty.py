"""What ruff and ty say of guests, and that a guest cannot make them say nothing."""

from __future__ import annotations

import pytest
from thetis_kernel.forge.builtin import builtin_sources
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.source import read_guest
from thetis_kernel.forge.steps import ruff, ty
from thetis_kernel.paths import builtin_root

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import GOOD, TOOL_MAIN, good, tool

LIES = "\ndef lies() -> int:\n    return 'x'\n"
LINE = TOOL_MAIN.count("\n") + 3


def complaints(step, source):
    return [(d.path, d.line, d.message) for d in step.run(Candidate(source), FakeBench())]


@pytest.mark.parametrize("step", [ruff, ty])
def test_what_ships_passes(step):
    template = read_guest(builtin_root() / "tools" / "_template", "tool/template")
    for source in [*builtin_sources(), *map(good, GOOD), template]:
        assert complaints(step, source) == [], source.aspect


@pytest.mark.parametrize(("text", "line", "words"), [
    ("def f(x):\n    return x\n", 1, "Missing type annotation for function argument `x` (ANN001)"),
    ("def f() -> None:\n    def g(*a, **k): ...\n    g()\n", 2, "(ANN"),
    ("class C:\n    def f(self):\n        return 1\n", 2, "Missing return type annotation"),
    ("x = 1\ny = zz\n", 2, "Undefined name `zz` (F821)"),
    ("x = [\n1\n", 1, "'[' was never closed"),
    ("def f(:\n    pass\n", 1, "invalid syntax"),
    ("def f() -> None:\n\tx = 1\n        y = 2\n", 3, ""),
    ("def f(x: list[int] = []) -> None: ...\n", 1, "(B006)"),
    ("if True:\n    def f(a: int) -> None: ...\n    def f(b: int) -> None: ...\n", 3, "(F811)"),
])  # fmt: skip
def test_ruff_names_the_line(text, line, words):
    found = complaints(ruff, tool(TOOL_MAIN, part=text))
    assert any(path == "part.py" and at == line and words in message for path, at, message in found), found


@pytest.mark.parametrize("text", [
    "from typing import Any\ndef f(x: Any) -> Any:\n    return x\n",
    "import json\nunused = 1\n",
    "def f() -> None:\n    x = 1\n",
    "type Pair[T] = tuple[T, T]\n",  # syntax of the guests' Python, newer than the kernel's
    "try:\n    x = 1\nexcept ValueError, TypeError:\n    x = 2\n",
    "name = 'world'\ngreeting = t'{name}'\n",
])  # fmt: skip
def test_ruff_leaves_taste_alone(text):
    assert complaints(ruff, tool(TOOL_MAIN, part=text)) == []


def test_tests_need_no_annotations():
    assert complaints(ruff, tool(TOOL_MAIN, test_main="def test_it():\n    assert True\n")) == []


@pytest.mark.parametrize("text", [
    "# ruff: noqa\ndef f(x):\n    return x\n",
    "# flake8: noqa\ndef f(x):\n    return x\n",
    "def f(x):  # noqa\n    return x\n",
    "def f(x):  # noqa: ANN001, ANN201\n    return x\n",
    "# /// script\n# requires-python = '>=3.7'\n# [tool.ruff.lint]\n# select = []\n# ///\ndef f(x):\n    return x\n",
    "# ruff: disable[ANN]\ndef f(x):\n    return x\n",
    "# @generated\ndef f(x):\n    return x\n",
])  # fmt: skip
def test_no_comment_switches_ruff_off(text):
    assert complaints(ruff, tool(TOOL_MAIN, part=text)), text


@pytest.mark.parametrize("name", ["build.part", "dist.part", "venv.part", "site_packages.part", "node_modules.x", "_build.part"])
@pytest.mark.parametrize("step", [ruff, ty])
def test_no_directory_is_passed_over(step, name):
    found = complaints(step, tool(TOOL_MAIN, **{name: "def f(x) -> int:\n    return zz\n"}))
    assert any(path == name.replace(".", "/") + ".py" for path, _, _ in found), found


def test_ty_names_the_line():
    [(path, line, message)] = complaints(ty, tool(TOOL_MAIN + LIES))
    assert (path, line) == ("main.py", LINE) and "expected `int`" in message


@pytest.mark.parametrize(("text", "words"), [
    ("from thetis_guest import ToolManifest\nx = ToolManifest(name=3)\n", "description"),
    ("from thetis_guest import sandbox\nsandbox.format_disk()\n", "format_disk"),
    ("from thetis_guest import files\nx: int = files.read_file('x')\n", "int"),
    ("import json\njson.lods('')\n", "lods"),
    ("import apsw\n", "apsw"),
    ("import thetis_kernel\n", "thetis_kernel"),
    ("import main\nmain.describe(1)\n", ""),
])  # fmt: skip
def test_ty_knows_the_sdk_and_the_library_and_nothing_installed_here(text, words):
    found = complaints(ty, tool(TOOL_MAIN, part=text))
    assert found and words in found[0][2] and found[0][0] == "part.py", found


@pytest.mark.parametrize("lies", [
    "def lies() -> int:\n    return 'x'  # type: ignore\n",
    "def lies() -> int:\n    return 'x'  # ty: ignore\n",
    "def lies() -> int:\n    return 'x'  # ty:ignore[invalid-explicit-return, invalid-return-type]\n",
    "def lies() -> int:\n    return 'x'  # noqa # ty: ignore # ty: ignore\n",
    "# type: ignore\ndef lies() -> int:\n    return 'x'\n",
    "# ty: ignore\ndef lies() -> int:\n    return 'x'\n",
    "from typing import no_type_check\n@no_type_check\ndef lies() -> int:\n    return 'x'\n",
    "import typing\n@typing.no_type_check\ndef lies() -> int:\n    return 'x'\n",
    "# /// script\n# requires-python = '>=3.7'\n# [tool.ty.rules]\n# all = 'ignore'\n# ///\ndef lies() -> int:\n    return 'x'\n",
])  # fmt: skip
def test_no_comment_switches_ty_off(lies):
    found = complaints(ty, tool(TOOL_MAIN, part=lies))
    assert found and found[0][0] == "part.py" and found[0][1], found


def test_packages_a_guest_brings_are_looked_up_and_not_checked(monkeypatch):
    brought = {"helper": "def twice(n: int) -> int:\n    return 'not checked'\n", "helper.part": "x = zz\n"}
    monkeypatch.setattr(Candidate, "brought", property(lambda self: brought))
    source = tool(TOOL_MAIN + "import helper.part\nx: int = helper.twice(2)\ny: str = helper.twice(3)\n")
    assert complaints(ruff, source) == []
    assert [(path, line) for path, line, _ in complaints(ty, source)] == [("main.py", TOOL_MAIN.count("\n") + 3)]


def test_blanking_keeps_every_line_and_column():
    text = "x = 1  # ty: ignore  # type: ignore[x]\n'# ty: ignore'\n"
    assert ty.spoken(text) == "x = 1  # ty: ------  # type: ------[x]\n'# ty: ------'\n"


def test_a_guests_own_configuration_is_never_there(tmp_path):
    directory = tmp_path / "probe"
    directory.mkdir()
    (directory / "guest.toml").write_text(tool("").manifest)
    (directory / "main.py").write_text(TOOL_MAIN + LIES + "def f(x): ...\n")
    for name, text in {
        "pyproject.toml": "[tool.ruff]\nexclude = ['*.py']\n[tool.ty.rules]\nall = 'ignore'\n",
        "ruff.toml": "exclude = ['*.py']\n", ".ruff.toml": "exclude = ['*.py']\n", "ty.toml": "[rules]\nall = 'ignore'\n",
        ".gitignore": "*.py\n", ".ignore": "*.py\n", "setup.cfg": "[flake8]\nexclude = *\n",
    }.items():  # fmt: skip
        (directory / name).write_text(text)
    source = read_guest(directory, "tool/probe")
    assert complaints(ruff, source) and complaints(ty, source)
