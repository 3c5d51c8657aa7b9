"""Run a candidate through the gate's steps; the first that complains ends the run.

The list of steps is data (`steps.STEPS`); this module owns order, timing and the promise that whatever a candidate
does ends as a verdict. Steps that need no lock of the interpreter's run beside the others, and the verdict is the one that
all in a row would have given. It must not know what any step looks for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec

from thetis_kernel.errors import GateError, GuestError, ThetisError
from thetis_kernel.forge.candidate import Bench, Candidate, Step
from thetis_kernel.forge.diagnostics import bounded_diagnostics, diagnostic_of_guest, diagnostics_of
from thetis_kernel.forge.prepared import Prepared
from thetis_kernel.protocol.gate import Diagnostic, GuestSource, StepResult, Verdict

BESIDE_AT_ONCE = 4
"""Threads for steps beside the others; most of their time they wait for a program or are inside wasm."""


def judge(source: GuestSource, key: str, bench: Bench, steps: Sequence[Step], prepared: Prepared | None = None) -> Verdict:
    """The verdict over `source`, with the time of each step up to the first that complains. Never raises for anything a
    candidate can do."""
    candidate = Candidate(source, prepared=prepared or Prepared())
    results: list[StepResult | Future[StepResult]] = []
    with ThreadPoolExecutor(BESIDE_AT_ONCE, thread_name_prefix="checker") as pool:
        for step in steps:
            result = pool.submit(_result, step, candidate, bench) if step.beside else _result(step, candidate, bench)
            results.append(result)
            if any(_failed(one) for one in results):
                break
        told = [_awaited(one) if isinstance(one, Future) else one for one in results]
    failed = next((place for place, result in enumerate(told) if not result.ok), None)
    if failed is not None:
        return Verdict(False, key, told[: failed + 1])
    return Verdict(True, key, told, candidate.bundle, candidate.describes)


def _failed(result: StepResult | Future[StepResult]) -> bool:
    """Whether it is known by now that a step complained."""
    if isinstance(result, Future):
        return result.done() and not result.result().ok
    return not result.ok


def _awaited(result: Future[StepResult]) -> StepResult:
    """The result of a step beside the others. Its time is what had to be waited for: all times add up to the verdict's."""
    started = time.perf_counter()
    return msgspec.structs.replace(result.result(), ms=round((time.perf_counter() - started) * 1000, 3))


def _result(step: Step, candidate: Candidate, bench: Bench) -> StepResult:
    started = time.perf_counter()
    found = bounded_diagnostics(_complaints(step, candidate, bench))
    return StepResult(step.name, not found, round((time.perf_counter() - started) * 1000, 3), found)


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
