"""Run a candidate through the gate's steps; the first that complains ends the run.

The list of steps is data (`steps.STEPS`); this module owns order, timing and the promise that whatever a candidate
does ends as a verdict. It must not know what any step looks for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from thetis_kernel.errors import GateError, GuestError, ThetisError
from thetis_kernel.forge.candidate import Bench, Candidate, Step
from thetis_kernel.forge.diagnostics import bounded_diagnostics, diagnostic_of_guest, diagnostics_of
from thetis_kernel.protocol.gate import Diagnostic, GuestSource, StepResult, Verdict


def judge(source: GuestSource, key: str, bench: Bench, steps: Sequence[Step]) -> Verdict:
    """The verdict over `source`, with the time of each step that ran. Never raises for anything a candidate can do."""
    candidate = Candidate(source)
    results: list[StepResult] = []
    for step in steps:
        started = time.perf_counter()
        found = bounded_diagnostics(_complaints(step, candidate, bench))
        results.append(StepResult(step.name, not found, round((time.perf_counter() - started) * 1000, 3), found))
        if found:
            return Verdict(False, key, results)
    return Verdict(True, key, results, candidate.bundle, candidate.describes)


def _complaints(step: Step, candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    try:
        return step.run(candidate, bench)
    except GateError as exc:
        return diagnostics_of(exc)
    except GuestError as exc:
        return [diagnostic_of_guest(exc, candidate.paths.values(), step.name)]
    except ThetisError as exc:
        return [Diagnostic("", 0, f"the gate could not run this step: {exc}")]
    except (MemoryError, RecursionError) as exc:
        return [Diagnostic("", 0, f"the candidate is too large or too deeply nested for the gate ({type(exc).__name__})")]
