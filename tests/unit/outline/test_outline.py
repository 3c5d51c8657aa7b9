"""The outline tool: exact for Python, approximate for others, and through the real sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.paths import builtin_root
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.native_guest import native_guest
from tests.support.turns import turn_context

PYTHON = '''"""Looms and shuttles."""

import os

WIDTH = 7
_hidden = 1


class Loom(Base, metaclass=Meta):
    """Weaves.

    More words.
    """

    def __init__(self, width: int = 3, *rest: str, **more: Any) -> None:
        def inner() -> None: ...

    @property
    @cached(lru=1)
    def cloth(self) -> str:
        """What it wove."""


if os.name == "posix":
    async def start(loom: Loom) -> None:
        pass
'''


@pytest.fixture
def outline(tmp_path: Path) -> Iterator[Callable[..., list[str]]]:
    """Outline a file of the checkout through the host's own sandbox."""
    context = turn_context(tmp_path)
    with native_guest(builtin_root() / "tools" / "outline", sandbox_imports(context, "c1")) as guest:

        def run(name: str, text: str, **args: Any) -> list[str]:
            path = tmp_path / "wt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return str(guest.invoke("s1", {"path": name, **args}, {})).split("\n")

        yield run


def test_python_is_outlined_by_its_syntax_tree(outline: Any) -> None:
    assert outline("src/loom.py", PYTHON, depth=2) == [
        "src/loom.py: 26 lines",
        "    1  module  # Looms and shuttles.",
        "    5  WIDTH",
        " 9-21  class Loom(Base, metaclass=Meta)  # Weaves.",
        "15-16    def __init__(self, width: int=3, *rest: str, **more: Any) -> None",
        "18-21    @property def cloth(self) -> str  # What it wove.",
        "25-26  async def start(loom: Loom) -> None",
        "(1 deeper entry not shown; raise depth)",
    ]


def test_depth_shows_less_or_more(outline: Any) -> None:
    assert not any("def __init__" in line for line in outline("a.py", PYTHON, depth=1))
    assert any("def inner" in line for line in outline("a.py", PYTHON, depth=3))


def test_python_that_does_not_parse_is_outlined_by_patterns(outline: Any) -> None:
    lines = outline("a.py", "class A:\n    def f(self):\n        return (\n\ndef g():\n    pass\n")
    assert "does not parse" in lines[0] and [line.split("  ", 1)[1].strip() for line in lines[1:]] == [
        "class A:", "def f(self):", "def g():"]  # fmt: skip


def test_a_script_is_known_by_its_interpreter(outline: Any) -> None:
    assert outline("bin/tool", "#!/usr/bin/env python3\ndef main(): ...\n")[1].endswith("def main()")


def test_headings_of_markdown_with_the_lines_they_reach_over(outline: Any) -> None:
    text = "# Top\n\nx\n\n```\n# not a heading\n```\n## Sub ##\ny\n## Next\n# Last\n"
    assert outline("README.md", text)[1:] == [
        "1-10  # Top",
        " 8-9    ## Sub",
        "  10    ## Next",
        "  11  # Last",
    ]


def test_underlined_headings(outline: Any) -> None:
    lines = outline("doc.rst", "Title\n=====\n\ntext\n\nPart\n----\n\nOther\n-----\n")
    assert [line.split("  ", 1)[1] for line in lines[1:]] == ["Title", "  Part", "  Other"]


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("a.rs", "pub struct A {\n}\nimpl A {\n    pub fn new() -> Self {\n        let x = 1;\n    }\n}\nfn main() {\n",
         ["pub struct A", "impl A", "pub fn new() -> Self", "fn main()"]),
        ("a.go", "package main\n\nfunc (l *Loom) Weave(n int) error {\n}\ntype Loom struct {\n",
         ["func (l *Loom) Weave(n int) error", "type Loom struct"]),
        ("a.ts", "export class A {\n}\nexport const f = async (x: number) => {\n};\nfunction g() {\n  return 1;\n}\n",
         ["export class A", "export const f = async (x: number) =>", "function g()"]),
        ("a.c", "static int add(int a, int b)\n{\n    return add(1, 2);\n}\nstruct loom {\n    int x;\n};\n",
         ["static int add(int a, int b)", "struct loom"]),
        ("A.java", "public class A {\n    public int get(int x) {\n        if (x > 1) {\n        }\n    }\n}\n",
         ["public class A", "public int get(int x)"]),
        ("a.sh", "weave() {\n  echo hi\n}\nfunction spin() {\n", ["weave()", "function spin()"]),
        ("Makefile", "X := 1\nall: test lint\n\tgo\n.PHONY: all\n", ["all: test lint", ".PHONY: all"]),
        ("a.toml", '[project]\nname = "x"\n[[bin]]\n', ["[project]", "[[bin]]"]),
        ("a.sql", "create table loom (\n  id int\n);\nCREATE UNIQUE INDEX i ON loom (id);\n",
         ["create table loom (", "CREATE UNIQUE INDEX i ON loom (id);"]),
        ("a.rb", "module M\n  class A\n    def weave\n    end\n  end\nend\n", ["module M", "class A", "def weave"]),
    ],
)  # fmt: skip
def test_other_languages_by_patterns(outline: Any, name: str, text: str, labels: list[str]) -> None:
    assert [line.split("  ", 1)[1].strip() for line in outline(name, text, depth=6)[1:]] == labels


def test_a_long_file_is_read_in_parts(outline: Any) -> None:
    text = "\n".join(f"def function_number_{n}(): return '{'x' * 60}'" for n in range(2_500))
    lines = outline("long.py", text)
    assert lines[0] == "long.py: 2500 lines" and "400" not in lines[0]
    assert lines[-1].startswith("(and 2100 more")


def test_nothing_to_see_is_said(outline: Any) -> None:
    assert "nothing that stands out" in outline("a.txt", "just words\n")[1]
    assert outline("empty.py", "")[0] == "empty.py: 0 lines"


@pytest.mark.parametrize(
    ("args", "words"),
    [({}, "`path`"), ({"path": 3}, "`path`"), ({"path": "x", "depth": 0}, "`depth`"), ({"path": "x", "depth": True}, "`depth`"),
     ({"path": "gone.py"}, "gone.py"), ({"path": "../outside.py"}, "outside")],
)  # fmt: skip
def test_what_cannot_be_outlined_says_why(tmp_path: Path, args: dict[str, Any], words: str) -> None:
    from thetis_guest import HostError

    with native_guest(builtin_root() / "tools" / "outline", sandbox_imports(turn_context(tmp_path), "c1")) as guest:
        with pytest.raises(HostError) as refused:
            guest.invoke("s1", args, {})
        assert words in refused.value.message


def test_it_works_in_a_read_only_mode_and_says_it_changes_nothing(tmp_path: Path) -> None:
    context = turn_context(tmp_path, read_only=True)
    (tmp_path / "wt" / "a.py").write_text("def f(): ...\n")
    with native_guest(builtin_root() / "tools" / "outline", sandbox_imports(context, "c1")) as guest:
        assert "def f()" in guest.invoke("s1", {"path": "a.py"}, {})
        manifest = guest.describe().to_dict()
    assert manifest["mutating"] is False and manifest["name"] == "outline"
    json.dumps(manifest["input_schema"])


@pytest.fixture(scope="module")
def modules() -> Iterator[tuple[ModuleType, Any]]:
    with native_guest(builtin_root() / "tools" / "outline") as guest:
        yield guest, guest.heuristic


@given(text=st.text(alphabet="ab #=-(){}:;\n\t*&<>,`\"'\\", max_size=300), ending=st.sampled_from(
    ["py", "md", "rst", "c", "ts", "sh", "css", "toml", "sql", "tex", "zz"]))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_no_text_makes_it_fail(modules: Any, text: str, ending: str) -> None:
    guest, _ = modules
    entries, _ = guest._outline(f"x.{ending}", text)
    assert all(entry.first >= 1 and entry.level >= 1 for entry in entries)
    assert [entry.first for entry in entries] == sorted(entry.first for entry in entries)
