"""Layout, imports and exports: what a look at the text says."""

from __future__ import annotations

import sys

import pytest
from thetis_kernel.errors import GateError, GuestError
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.snapshot import sdk_modules, stdlib_modules
from thetis_kernel.forge.steps import compiles, exports, imports, layout
from thetis_kernel.protocol.gate import GuestSource

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import GOOD, TOOL_MAIN, good, manifest, tool


def complaints(step, source):
    return [(d.path, d.line, d.message) for d in step.run(Candidate(source), FakeBench())]


@pytest.mark.parametrize("step", [layout, imports, exports])
@pytest.mark.parametrize("aspect", GOOD)
def test_good_guests_pass(step, aspect):
    assert complaints(step, good(aspect)) == []


# Layout


@pytest.mark.parametrize(
    ("modules", "path", "line", "words"),
    [
        ({"helper": ""}, "main.py", 0, "there is no main.py"),
        ({"main": "", "json": ""}, "json.py", 0, "the standard library's"),
        ({"main": "", "json.extra": ""}, "json/extra.py", 0, "the standard library's"),
        ({"main": "", "thetis_guest": ""}, "thetis_guest.py", 0, "the runtime's"),
        ({"main": "", "loader": ""}, "loader.py", 0, "the runtime's"),
        ({"main": "", "wit_world": ""}, "wit_world.py", 0, "the runtime's"),
        ({"main": "x\n\0"}, "main.py", 2, "NUL"),
        ({"main": "#" * (512 * 1024 + 1)}, "main.py", 0, "larger than 512 KiB"),
        ({"main": "", "../../etc/x": ""}, "", 0, "cannot be a module name"),
        ({"main": "", "a..b": ""}, "", 0, "cannot be a module name"),
        ({"main": "", "": ""}, "", 0, "cannot be a module name"),
        ({"main": "", "x/y": ""}, "", 0, "cannot be a module name"),
        ({"main": "", "class": ""}, "class.py", 0, "cannot be a module name"),
        ({"main": "", **{f"m{n}": "" for n in range(400)}}, "", 0, "more than 400 modules"),
        ({"main": "", **{f"m{n}": "#" * 500_000 for n in range(9)}}, "", 0, "larger than 4096 KiB in all"),
    ],
)
def test_layout(modules, path, line, words):
    found = complaints(layout, GuestSource("tool/probe", "tool", manifest(), modules))
    assert any(words in message and (not path or (path, line) == (where, at)) for where, at, message in found), found


# Imports

IMPORTED = [
    "import json",
    "import os.path, xml.etree.ElementTree as ET",
    "from collections.abc import Mapping",
    "from thetis_guest import sandbox",
    "import thetis_guest.files",
    "import helper",
    "from pkg.part import x",
    "import pkg",
    "from __future__ import annotations",
    "import sys",
]
REFUSED = {
    "import socket": "socket is not in the guests' runtime",
    "import subprocess": "subprocess is not in the guests' runtime",
    "import ctypes": "ctypes is not in the guests' runtime",
    "import requests": "requests is not in the guests' runtime",
    "import jsn": "did you mean json?",
    "import thetis_kernel.store": "thetis_kernel.store is not in the guests' runtime",
    "from thetis_guest._bind import install": "not part of the SDK",
    "from thetis_guest import _bind": "thetis_guest._bind is not part of the SDK",
    "import thetis_guest.secrets": "not part of the SDK",
    "from pkg.missing import x": "pkg.missing is not a module of this guest",
    "from . import x": "beyond the guest's top",
    "def f():\n    import socket": "socket is not in the guests' runtime",
    "try:\n    import yaml\nexcept ImportError:\n    pass": "yaml is not in the guests' runtime",
    "try:\n    pass\nexcept ImportError:\n    import yaml": "yaml is not in the guests' runtime",
    "try:\n    pass\nfinally:\n    import yaml": "yaml is not in the guests' runtime",
    "if x:\n    pass\nelse:\n    import yaml": "yaml is not in the guests' runtime",
    "match x:\n    case 1:\n        import yaml": "yaml is not in the guests' runtime",
    "class A:\n    def f(self):\n        with x:\n            import yaml": "yaml is not in the guests' runtime",
}


@pytest.mark.parametrize("line", IMPORTED)
def test_imports_that_work(line):
    assert complaints(imports, tool(line, helper="", **{"pkg.part": "x = 1", "pkg": ""})) == []


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_imports_that_cannot_work_have_a_line(text, words):
    found = complaints(imports, tool("x = 1\n" + text, **{"pkg.part": ""}))
    at = 2 + text[: text.index("import ")].count("\n")
    assert [(path, line) for path, line, _ in found] == [("main.py", at)]
    assert words in found[0][2]


def test_relative_imports_inside_packages():
    modules = {"pkg": "from . import part\nfrom .part import x", "pkg.part": "from .. import nope"}
    modules["pkg.sub"] = "from .gone import x"
    found = complaints(imports, tool("", **modules))
    assert [(path, line) for path, line, _ in found] == [("pkg/part.py", 1), ("pkg/sub.py", 1)]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="`type X = int` is not newer than this Python")
def test_syntax_newer_than_this_interpreter_is_left_to_the_compiler():
    assert complaints(imports, tool("type X = int\nimport socket\n")) == []
    assert complaints(imports, tool("def f(:\n")) == []
    assert complaints(exports, tool("type X = int\n")) == []


@pytest.mark.parametrize("text", ["x = " + "(" * 5000, "x = " + "-" * 50_000 + "1", "x = " + "[" * 150 + "]" * 150, "9" * 9000])
def test_hostile_syntax_is_a_complaint_or_left_to_the_compiler(text):
    assert all("too deeply nested" in message for _, _, message in complaints(imports, tool(text)))


def test_text_too_dense_to_read_in_time_is_refused(monkeypatch):
    monkeypatch.setattr(imports, "CPU_S", 0.0)
    found = complaints(imports, tool("import json", other="import json"))
    assert found == [("main.py", 0, "the guest takes too long to read; make it smaller or less dense")]


def test_the_lists_come_from_the_runtime():
    assert {"json", "xml", "xml.etree", "xml.etree.ElementTree", "sys"} <= stdlib_modules()
    assert not {"socket", "subprocess", "ctypes"} & stdlib_modules()
    assert {"thetis_guest", "thetis_guest.files", "thetis_guest.sys"} <= sdk_modules()


# Exports

ONE = "def describe(): ...\n"


@pytest.mark.parametrize(
    "text",
    [
        TOOL_MAIN,
        ONE + "def invoke(a, b, c=None): ...",
        ONE + "def invoke(*args): ...",
        ONE + "from inner import invoke",
        ONE + "invoke = make()",
        ONE + "if True:\n    def invoke(a, b, c): ...\nelse:\n    invoke = None",
        ONE + "try:\n    pass\nexcept ValueError:\n    def invoke(a, b, c): ...",
        ONE + "match 1:\n    case 1:\n        def invoke(a, b, c): ...",
        ONE + "@wrapped\ndef invoke(): ...",
        "from inner import *",
    ],
)
def test_exports_that_can_be_called(text):
    assert complaints(exports, tool(text)) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (ONE, 0, "no function invoke(session_id, args, config)"),
        (ONE + "def invoke(a, b): ...", 2, "is called as invoke(session_id, args, config)"),
        (ONE + "def invoke(a, b, c, d): ...", 2, "is called as"),
        (ONE + "def invoke(a, b, c, *, d): ...", 2, "is called as"),
        (ONE + "async def invoke(a, b, c): ...", 2, "not async"),
        (ONE + "class invoke: ...", 2, "not a class"),
        ("def f():\n    def describe(): ...\ndef invoke(a, b, c): ...", 0, "no function describe()"),
    ],
)
def test_exports_that_cannot(text, line, words):
    found = complaints(exports, tool(text))
    assert [(path, at) for path, at, _ in found] == [("main.py", line)]
    assert words in found[0][2]


# Compile


def test_the_compilers_diagnostics_come_through():
    error = GateError("x", step="compile", diagnostics=[{"path": "main.py", "line": 3, "message": "invalid syntax"}])
    with pytest.raises(GateError):
        compiles.run(Candidate(tool("x")), FakeBench(error))


def test_a_bundle_too_large_for_a_frame_is_refused():
    for much in ("x" * (6 << 20 | 1), GuestError("compile returned too much", kind="type")):
        found = compiles.run(Candidate(tool("x")), FakeBench(much))
        assert "compiles to more than" in found[0].message
    with pytest.raises(GuestError):
        compiles.run(Candidate(tool("x")), FakeBench(GuestError("loop", kind="timeout")))
