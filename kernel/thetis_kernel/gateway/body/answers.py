"""A verdict as the dev kit answers it. Knows values only."""

from __future__ import annotations

from typing import Any

from thetis_kernel.protocol.gate import Verdict

MAX_DIAGNOSTICS = 40


def told(aspect: str, directory: str, verdict: Verdict) -> dict[str, Any]:
    """A verdict as the dev kit answers it; places of diagnostics are paths in the body."""
    failed = [] if verdict.ok else verdict.steps[-1].diagnostics
    places = [{"path": f"{directory}/{one.path}" if one.path else directory, "line": one.line, "message": one.message}
              for one in failed[:MAX_DIAGNOSTICS]]
    return {"aspect": aspect, "ok": verdict.ok, "revision": verdict.key, "diagnostics": places,
            "steps": [{"step": step.step, "ok": step.ok, "ms": step.ms} for step in verdict.steps]}
