"""Reliability S14: nothing in the kernel or the screen turns data into code, and no program is started through a shell.

CVE-2025-64439, CVE-2026-48775 (stores that unpickle), class F (command lines put together as text).
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
FILES = sorted([*(TOP / "kernel").rglob("*.py"), *(TOP / "thetis_tui").rglob("*.py")])
MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "yaml", "jsonpickle", "multiprocessing", "commands", "pty"}
MAY_IMPORT = {"pty": {"kernel/thetis_kernel/walls"}}
"""A ban's exceptions: the walls open pseudo-terminals."""
BUILTINS = {"eval", "exec", "compile", "__import__"}
METHODS = {
    ("os", "system"),
    ("os", "popen"),
    ("os", "execvp"),
    ("os", "spawnvp"),
    ("subprocess", "getoutput"),
    ("tempfile", "mktemp"),
}


def offences(source: str, where: str = "") -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [(node.module or "").partition(".")[0]]
        found += [
            name for name in names if name in MODULES and not any(where.startswith(p) for p in MAY_IMPORT.get(name, ()))
        ]
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in BUILTINS:
            found.append(called.id)
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and (called.value.id, called.attr) in METHODS
        ):
            found.append(f"{called.value.id}.{called.attr}")
        found += ["shell" for word in node.keywords if word.arg == "shell" and not _is_false(word.value)]
    return found


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def test_none_in_the_kernel_or_the_screen() -> None:
    assert len(FILES) > 200
    found = {
        str(file.relative_to(TOP)): offences(file.read_text(encoding="utf-8"), str(file.relative_to(TOP)))
        for file in FILES
    }
    assert {file: words for file, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import pickle", "pickle"),
        ("from yaml import load", "yaml"),
        ("eval('1')", "eval"),
        ("exec(x)", "exec"),
        ("import os\nos.system('ls')", "os.system"),
        ("import subprocess\nsubprocess.run('ls', shell=True)", "shell"),
        ("import subprocess\nsubprocess.Popen(x, shell=y)", "shell"),
        ("import multiprocessing.connection", "multiprocessing"),
        ("compile('x', 'y', 'exec')", "compile"),
    ],
)
def test_each_would_be_seen(source: str, word: str) -> None:
    assert offences(source) == [word]


def test_what_only_looks_like_one_is_none() -> None:
    assert offences("import re\nre.compile('x')\nself.exec('y')\nsubprocess.run(['ls'], shell=False)") == []
