"""Guests that are wrong on paper: syntax, types, annotations, imports, and attempts to switch the checks off."""

from __future__ import annotations

from tests.support.hostile.base import GOOD, Cases, tool


def syntax() -> Cases:
    for text in (
        "def f(:\n", "x = (1\n", "x = [\n", "if True\n    pass\n", "class :\n    pass\n", "return 3 +\n", "x = 'open\n",
        'x = """open\n',
        "  indented = 1\n", "def f() -> None:\nbody\n", "for in x: pass\n", "lambda: (yield\n", "x = 0777\n",
        "print 'two'\n", "async x\n",
        "a = b = \n", "f(x=1, 2)\n", "x := 3 = 4\n", "match x:\n    case\n", "import\n", "from x import\n", "break\n",
        "nonlocal x\n",
        "def f() -> None:\n\tx = 1\n        y = 2\n",
    ):  # fmt: skip
        yield text.strip()[:30].replace("\n", "|"), tool(GOOD + text, "ruff compile")


def types() -> Cases:
    for text in (
        "x: int = ''", "x: list[int] = ['a']", "def f() -> int:\n    return ''", "def f(x: int) -> None: ...\nf('a')",
        "from thetis_guest import sandbox\nsandbox.nothing()", "from thetis_guest import nobody", "import json\njson.lods('')",
        "ToolManifest(name=3, description='', input_schema={})", "ToolManifest()", "len(3)", "x = 1\nx.upper()", "'a' + 1",
        "class C:\n    def f(self) -> int:\n        return self.g", "def f() -> str:\n    return None", "for x in 3: pass",
        "with 3: pass", "describe(1)", "d: dict[str, int] = {}\nd.foo", "x = [1]\nx['a']",
        "def f(x: int | None) -> int:\n    return x",
    ):  # fmt: skip
        yield text[:34].replace("\n", "|"), tool(GOOD + text + "\n", "ty")


def annotations() -> Cases:
    for text in (
        "def f(x): ...", "def f(): return 1", "def f(x: int, y) -> int: return x", "class C:\n    def f(self): return 1",
        "def f(*args) -> None: ...", "def f(**more) -> None: ...", "class C:\n    @staticmethod\n    def f(x) -> None: ...",
        "async def f(x) -> None: ...", "def f() -> None:\n    def g(x): return x", "class C:\n    def __init__(self, x): ...",
    ):  # fmt: skip
        yield text[:34].replace("\n", "|"), tool(GOOD + text + "\n", "ruff")


def imports() -> Cases:
    for text in (
        "import socket", "import subprocess", "import ctypes", "import multiprocessing", "import asyncio", "import requests",
        "import thetis_kernel", "import apsw", "from thetis_guest import _bind", "import thetis_guest._errors", "import jsn",
        "from . import x", "from .. import main", "import nothing.at.all",
    ):  # fmt: skip
        yield text, tool(GOOD + text + "\n", "imports ty")
    yield "by name", tool(GOOD + "socket = __import__('socket')\n", "smoke")
    yield "by importlib", tool(GOOD + "import importlib\nsocket = importlib.import_module('socket')\n", "smoke")


def configured() -> Cases:
    lies = GOOD + "def lies() -> int:\n    return ''\n"
    for name, text in {
        "pyproject.toml": "[tool.ruff]\nexclude = ['*']\n[tool.ty.rules]\nall = 'ignore'\n",
        "ty.toml": "[rules]\nall = 'ignore'\n",
        "ruff.toml": "exclude = ['*']\n", ".ruff.toml": "exclude = ['*']\n", ".gitignore": "*\n", ".ignore": "*\n",
    }.items():  # fmt: skip
        yield f"{name} and wrong types", tool(lies, "ty", extra={name: text})
        yield f"{name} and no annotations", tool(GOOD + "def f(x): ...\n", "ruff", extra={name: text})
    for comment in ("# type: ignore", "# ty: ignore", "# ty:ignore[invalid-explicit-return]", "# noqa # ty: ignore"):
        yield f"{comment} at the line", tool(lies.replace("return ''", f"return ''  {comment}"), "ty")
        yield f"{comment} at the top", tool(comment + "\n" + lies, "ty")
    for comment in ("# ruff: noqa", "# flake8: noqa", "# ruff: disable[ANN]"):
        yield f"{comment} at the top", tool(comment + "\n" + GOOD + "def f(x): ...\n", "ruff")
    yield "noqa at the line", tool(GOOD + "def f(x): ...  # noqa\n", "ruff")
    yield (
        "no_type_check",
        tool(GOOD + "from typing import no_type_check\n@no_type_check\ndef f() -> int: return ''\n", "ty"),
    )
    block = "# /// script\n# requires-python = '>=3.7'\n# [tool.ty.rules]\n# all = 'ignore'\n# ///\n"
    yield "inline settings", tool(block + lies, "ty")
