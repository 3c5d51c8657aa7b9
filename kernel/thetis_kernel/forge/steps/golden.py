"""Step: an agent makes of every golden log a history a provider takes, in every mode, with all of the person's words.

The checker is the one `thetis doctor` uses on real conversations. Tools and renderers have no history to make.
"""

from __future__ import annotations

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.fakes.agent import MODES
from thetis_kernel.forge.fakes.golden import GOLDEN, GoldenHost
from thetis_kernel.forge.fakes.host import dumps
from thetis_kernel.forge.steps.smoking import Failed, Smoke
from thetis_kernel.protocol.gate import Diagnostic
from thetis_kernel.protocol.history import missing, violations

_SHOWN = 80


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """One complaint, about the first history that would be refused."""
    if candidate.source.world != "agent":
        return []
    smoke = Smoke(candidate, bench)
    try:
        for name, golden in GOLDEN.items():
            for mode in MODES:
                host = GoldenHost(golden)
                doing = f"handle_turn() in mode {mode['id']} after {name}"
                smoke.text(host, "handle-turn", dumps(host.turn_json(mode)), doing=doing)
                if problem := _problem(host):
                    smoke.fail(f"{doing}: {problem}")
    except Failed as exc:
        return [exc.diagnostic]
    return []


def _problem(host: GoldenHost) -> str:
    if not host.requests:
        return "it ended without asking the model anything"
    for messages in host.requests:
        if found := violations(messages):
            return f"no provider would take its request. {found[0]}"
        if lost := missing(host.said, messages):
            return f"its request does not hold, word for word and in order, what the person said: {lost[0][:_SHOWN]!r}"
    return ""
