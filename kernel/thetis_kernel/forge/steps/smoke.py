"""Step: every export of the world is called, with a stand-in host, and answers in shape."""

from __future__ import annotations

from collections.abc import Callable

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.steps import smoke_agent, smoke_gateway, smoke_tool
from thetis_kernel.forge.steps.smoking import Failed, Smoke
from thetis_kernel.protocol.gate import Diagnostic

_WORLDS: dict[str, Callable[[Smoke], None]] = {
    "tool": smoke_tool.run,
    "agent": smoke_agent.run,
    "gateway": smoke_gateway.run,
}


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Leaves describe()'s JSON with the candidate."""
    try:
        _WORLDS[candidate.source.world](Smoke(candidate, bench))
    except Failed as exc:
        return [exc.diagnostic]
    return []
