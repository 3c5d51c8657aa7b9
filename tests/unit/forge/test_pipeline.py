from __future__ import annotations

import pytest
from thetis_kernel.errors import GateError, GuestError, RuntimeBuildError
from thetis_kernel.forge.candidate import Step
from thetis_kernel.forge.pipeline import judge
from thetis_kernel.protocol.gate import Diagnostic

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, tool

KEY = "k" * 64


def run(*steps):
    return judge(tool(TOOL_MAIN), KEY, FakeBench(), [Step(name, do) for name, do in steps])


def fill(candidate, bench):
    candidate.bundle, candidate.describes = "Y29kZQ==", "{}"
    return []


def test_a_pass_has_every_steps_time_and_the_bundle():
    verdict = run(("one", fill), ("two", lambda c, b: []))
    assert verdict.ok and verdict.key == KEY
    assert (verdict.bundle, verdict.describes) == ("Y29kZQ==", "{}")
    assert [(step.step, step.ok, step.diagnostics) for step in verdict.steps] == [("one", True, []), ("two", True, [])]
    assert all(step.ms >= 0 for step in verdict.steps)


def test_the_first_complaint_ends_the_run_and_keeps_no_bundle():
    later = []
    verdict = run(
        ("one", fill), ("two", lambda c, b: [Diagnostic("main.py", 3, "no")]), ("three", lambda c, b: later.append(1) or [])
    )
    assert not verdict.ok and verdict.bundle == ""
    assert [step.step for step in verdict.steps] == ["one", "two"]
    assert verdict.steps[-1].diagnostics == [Diagnostic("main.py", 3, "no")]
    assert later == []


def raiser(error):
    def step(candidate, bench):
        raise error

    return step


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (GateError("x", step="s", diagnostics=[{"path": "a.py", "line": 2, "message": "bad"}]), "bad"),
        (GuestError("It trapped.", kind="trap"), "trap"),
        (RuntimeBuildError("There is no runtime."), "could not run this step"),
        (MemoryError(), "too large or too deeply nested"),
        (RecursionError(), "too large or too deeply nested"),
    ],
)
def test_whatever_a_candidate_brings_about_is_a_verdict(error, words):
    verdict = run(("one", raiser(error)))
    assert not verdict.ok
    assert words in verdict.steps[0].diagnostics[0].message


def test_a_mistake_of_the_gate_itself_is_not_a_verdict_about_the_candidate():
    with pytest.raises(AttributeError):
        run(("one", raiser(AttributeError("bug"))))


def test_diagnostics_are_bounded_and_clean():
    verdict = run(("one", lambda c, b: [Diagnostic("a.py", 1, "\x1b[2J" + "x" * 9000)] * 100))
    found = verdict.steps[0].diagnostics
    assert len(found) == 51
    assert all("\x1b" not in d.message and len(d.message) <= 2000 for d in found)
