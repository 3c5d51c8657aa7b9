"""ty kept warm says yes exactly where ty asked anew says yes, over the whole candidate; any doubt is no answer."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from thetis_kernel.forge import checkers, tyserver
from thetis_kernel.forge.builtin import builtin_sources
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.layout import paths_of
from thetis_kernel.forge.prepared import Prepared
from thetis_kernel.forge.steps import ty
from thetis_kernel.hosts.gate import ahead

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, tool

BASE = {"main": TOOL_MAIN + "import part\nX: int = part.number()\n", "part": "def number() -> int:\n    return 1\n",
        "other": "from thetis_guest import files\nT: str = files.read_file('x')['text']\n"}  # fmt: skip
EDITS: dict[str, dict[str, str]] = {
    "nothing": {},
    "a comment": {"part": "# one\ndef number() -> int:\n    return 1\n"},
    "a lie in the changed module": {"part": "def number() -> int:\n    return ''\n"},
    "a change that breaks another module": {"part": "def number() -> str:\n    return ''\n"},
    "a name gone that another imports": {"part": "def count() -> int:\n    return 1\n"},
    "a lie behind a comment": {"part": "def number() -> int:\n    return ''  # ty: ignore\n"},
    "the sdk misused": {"other": "from thetis_guest import files\nT: int = files.read_file(1)\n"},
    "a module that is not there": {"other": "import nothing_of_the_kind\n"},
    "no python": {"other": "def f(:\n"},
    "another module": {"fourth": "x: int = 1\n"},
    "another module with a lie": {"fourth": "x: int = ''\n"},
    "many lines": {"part": "def number() -> int:\n    return 1\n" + "".join(f"x{n}: int = {n}\n" for n in range(300))},
}


def warm(base: dict[str, str]) -> Prepared:
    prepared = Prepared()
    ahead._types(base, prepared, lambda: False)
    assert prepared.no_type_errors is not None
    return prepared


@pytest.mark.parametrize("edit", EDITS)
def test_warm_and_anew_are_one_verdict(edit: str) -> None:
    modules = {**BASE, **EDITS[edit]}
    source = tool(modules["main"], **{
        name: text for name, text in modules.items() if name != "main"})  # fmt: skip
    anew = ty.run(Candidate(source), FakeBench())
    assert ty.run(Candidate(source, prepared=warm(BASE)), FakeBench()) == anew
    assert bool(anew) == (edit not in ("nothing", "a comment", "another module", "many lines"))


def test_a_yes_spares_asking_anew_and_doubt_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = checkers.check
    monkeypatch.setattr(checkers, "check", lambda name, *rest: asked.append(name) or real(name, *rest))
    good = tool(BASE["main"], part=BASE["part"] + "Y = 2\n", other=BASE["other"])
    assert ty.run(Candidate(good, prepared=warm(BASE)), FakeBench()) == [] and asked == []
    bad = tool(BASE["main"], part="def number() -> str:\n    return ''\n", other=BASE["other"])
    assert ty.run(Candidate(bad, prepared=warm(BASE)), FakeBench())[0].path == "main.py" and asked == ["ty"]


def test_the_shipped_agent_with_a_line_changed() -> None:
    agent = next(source for source in builtin_sources() if source.aspect == "agent")
    prepared = warm(agent.modules)
    assert prepared.no_type_errors is not None
    assert prepared.no_type_errors({**agent.modules, "prompt": agent.modules["prompt"] + "\n# changed\n"})


@pytest.mark.parametrize("words", [
    "",  # it ends at once
    "import time; time.sleep(60)",  # it says nothing
    "print('Content-Length: 2\\r\\n\\r\\n[]', end='', flush=True); import time; time.sleep(60)",
    "print('Content-Length: 99999999999\\r\\n\\r\\n', end='', flush=True); import time; time.sleep(60)",
    "print('x' * 100, flush=True)",
    "b='{\"id\":1,\"error\":{}}'; print(f'Content-Length: {len(b)}\\r\\n\\r\\n{b}', end='', flush=True); input()",
])  # fmt: skip
def test_a_server_that_does_not_answer_is_none(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ty"
    program.write_text(f"#!/usr/bin/env python3\n{words}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(checkers, "program", lambda name: str(program))
    monkeypatch.setattr(tyserver, "WARMING_S", 1.0)
    (tmp_path / "guest").mkdir()
    assert tyserver.warmed({"main": ""}, paths_of(["main"]), tmp_path / "guest", lambda: False) is None


def test_a_server_that_dies_between_is_no_answer(tmp_path: Path) -> None:
    prepared = warm(BASE)
    assert prepared.no_type_errors is not None
    server = prepared.no_type_errors.__self__  # type: ignore[attr-defined]
    server._process.kill()
    server._process.wait()
    assert prepared.no_type_errors(BASE) is False


def test_the_candidate_ends_the_warming(tmp_path: Path) -> None:
    prepared = Prepared()
    ahead._types(BASE, prepared, lambda: True)
    assert prepared.no_type_errors is None
