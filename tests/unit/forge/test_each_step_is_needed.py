"""Each step of the gate refuses a guest that all the others let pass."""

from __future__ import annotations

import json

import msgspec
import pytest
from thetis_kernel.errors import GateError
from thetis_kernel.forge.pipeline import judge
from thetis_kernel.forge.steps import STEPS
from thetis_kernel.protocol.gate import GuestSource

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, good, manifest, tool
from tests.unit.forge.test_golden import drop_results, small_agent
from tests.unit.forge.test_smoke import AGENT, described

UNFIT = GateError("no", step="compile", diagnostics=[{"path": "main.py", "line": 1, "message": "the compiler says no"}])


def bench(compiled="Y29kZQ==", **exports):
    return FakeBench(compiled, **{"describe": described(), "invoke": "ok", **exports})


def with_tests(text):
    return msgspec.structs.replace(tool(TOOL_MAIN), modules={"main": TOOL_MAIN, "test_main": text})


def golden_bench():
    """An agent whose ordinary turn is right, and that forgets results when a log is not ordinary."""

    def handle_turn(host, turn):
        if not hasattr(host, "requests"):
            return AGENT["handle_turn"](host, turn)
        return small_agent(host, turn, lambda messages, _: drop_results(messages, _))

    return FakeBench(**{**AGENT, "handle_turn": handle_turn})


CASES = {
    "manifest": (GuestSource("tool/probe", "tool", manifest() + "authority = 1\n", {"main": TOOL_MAIN}), bench),
    "layout": (tool(TOOL_MAIN, loader="x = 1\n"), bench),
    "ruff": (tool(TOOL_MAIN + "\ndef f(x): ...\n"), bench),
    "imports": (tool(TOOL_MAIN + "\nimport socket\n"), bench),
    "ty": (tool(TOOL_MAIN + "\nx: int = ''\n"), bench),
    "compile": (tool(TOOL_MAIN), lambda: bench(UNFIT)),
    "exports": (tool("\n".join(TOOL_MAIN.splitlines()[:3]) + "\n"), bench),
    "golden": (good("agent"), golden_bench),
    "smoke": (tool(TOOL_MAIN), lambda: bench(describe=described(description=""))),
    "tests": (with_tests("def test_it() -> None:\n    assert False\n"),
              lambda: bench(invoke=json.dumps([1, [{"module": "test_main", "line": 2, "kind": "AssertionError"}]]))),
}  # fmt: skip


def test_there_is_a_case_for_every_step():
    assert list(CASES) == [step.name for step in STEPS]


@pytest.mark.parametrize("name", CASES)
def test_the_step_refuses_what_no_other_does(name):
    source, benched = CASES[name]
    verdict = judge(source, "k", benched(), STEPS)
    assert not verdict.ok and verdict.steps[-1].step == name, verdict.steps[-1]
    assert verdict.bundle == "" and verdict.steps[-1].diagnostics
    without = judge(source, "k", benched(), [step for step in STEPS if step.name != name])
    assert without.ok, without.steps[-1]
