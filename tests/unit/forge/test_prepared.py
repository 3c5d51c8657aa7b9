"""What a gate knows of single modules ahead: only what was made from the very same text counts, and packages never do."""

from __future__ import annotations

import marshal
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import GateError
from thetis_kernel.forge.bundle import put_together, taken_apart
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.prepared import Imported, Prepared
from thetis_kernel.forge.steps import imports
from thetis_kernel.forge.wasmbench import WasmBench
from thetis_kernel.hosts.gate import ahead

from tests.e2e.gates import sealed
from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, tool

NAMES = st.sampled_from(["main", "a", "b", "ab", "a.x", "a.y", "b.c.d", "d"])
GUESTS = st.dictionaries(NAMES, st.sampled_from(["x = 1", "x = 2", "", "y = 3"]), min_size=1)


def compiled(modules: dict[str, str]) -> str:
    """Stands in for the compiler: a code says where the module lies, which its family decides, and what its text is."""
    def code(name: str) -> bytes:
        package = any(other.startswith(f"{name}.") for other in modules)
        return f"{name.replace('.', '/')}{'/__init__' if package else ''}.py: {modules[name]}".encode()

    return put_together({name: code(name) for name in modules})


@given(st.lists(GUESTS, max_size=4), GUESTS)
def test_whatever_was_known_the_bundle_is_the_one_of_compiling_all(before: list[dict[str, str]], guest: dict[str, str]) -> None:
    prepared = Prepared()
    for modules in before:
        prepared.keep(modules, compiled(modules))
    missing = prepared.missing(guest)
    assert prepared.joined(guest, missing, compiled(missing) if missing else "") == compiled(guest)


def test_only_what_changed_is_missing() -> None:
    prepared, modules = Prepared(), {"main": "import a", "a": "x = 1", "b": "x = 1"}
    prepared.keep(modules, compiled(modules))
    assert prepared.missing(modules) == {}
    assert prepared.missing({**modules, "a": "x = 2"}) == {"a": "x = 2"}
    assert prepared.missing({"main": "import a", "c": "x = 1"}) == {"c": "x = 1"}  # another name is another file
    assert prepared.missing({**modules, "b.c": "", "d": ""}) == {"b": "x = 1", "b.c": "", "d": ""}


def test_an_answer_about_other_modules_is_not_joined() -> None:
    prepared, modules = Prepared(), {"main": "", "a": "x = 1"}
    prepared.keep({"a": "x = 1"}, compiled({"a": "x = 1"}))
    for answer in ({"main": "", "a": "forged"}, {"a": "forged"}, {}):
        with pytest.raises(ValueError, match="other modules"):
            prepared.joined(modules, {"main": ""}, compiled(answer))


def test_a_known_list_of_imports_is_held_against_this_guest() -> None:
    candidate = Candidate(tool(TOOL_MAIN, part="import other\nimport json\n"))
    candidate.prepared.imports["import other\nimport json\n"] = [Imported("other", 0, (), 1), Imported("json", 0, (), 2)]
    assert [(d.path, d.line) for d in imports.run(candidate, FakeBench())] == [("part.py", 1)]
    candidate.source.modules["other"] = ""
    assert imports.run(candidate, FakeBench()) == []


def test_what_ships_and_is_broken_just_now_costs_only_itself() -> None:
    prepared = Prepared()

    class Broken:
        def compile(self, modules: dict[str, str]) -> str:
            raise GateError("no", step="compile", diagnostics=[])

    ahead._alone({"a": "import f(:\n", "b": "import json\n"}, prepared, Broken(), lambda: False)  # type: ignore[arg-type]
    assert prepared.imports == {"import json\n": [Imported("json", 0, (), 1)]}


@pytest.mark.runtimes
def test_the_real_compiler_is_asked_about_what_changed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, asked = WasmBench({"compiler": sealed("compiler")}, Prepared()), []
    real = WasmBench._compiled
    monkeypatch.setattr(WasmBench, "_compiled", lambda self, modules: asked.append(sorted(modules)) or real(self, modules))
    modules = {"main": "import a\n", "a": "def f() -> int:\n    return 1\n", "p": "", "p.q": "z = 'ü'\n"}
    whole = bench.compile(modules)
    again = bench.compile(modules)
    changed = bench.compile({**modules, "a": "def f() -> int:\n    return 2\n"})
    assert asked == [["a", "main", "p", "p.q"], ["p", "p.q"], ["a", "p", "p.q"]]
    fresh = WasmBench({"compiler": sealed("compiler")}).compile({**modules, "a": "def f() -> int:\n    return 2\n"})
    assert taken_apart(whole) == taken_apart(again)
    assert taken_apart(changed) == taken_apart(fresh) != taken_apart(whole)
    assert marshal.loads(b64decode(changed)) == taken_apart(changed)
    with pytest.raises(GateError) as caught:
        bench.compile({**modules, "a": "def f(:\n"})
    assert caught.value.data["diagnostics"][0]["path"] == "a.py"


@pytest.mark.runtimes
def test_an_answer_that_is_no_bundle_is_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = WasmBench({"compiler": sealed("compiler")})
    bench.compile({"a": "x = 1\n"})
    monkeypatch.setattr(WasmBench, "_compiled", lambda self, modules: f"all of {sorted(modules)}")
    assert bench.compile({"a": "x = 1\n", "main": ""}) == "all of ['a', 'main']"
