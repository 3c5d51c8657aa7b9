"""Step: the sources compile, inside wasm, by the guests' own Python. The result is the artifact's bundle."""

from __future__ import annotations

from thetis_kernel.errors import GuestError
from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.protocol.gate import Diagnostic

MAX_BUNDLE = 6 * 1024 * 1024
"""Base64 characters; a verdict must fit one frame between processes (8 MiB) with room for the rest."""


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Leaves the bundle with the candidate."""
    try:
        candidate.bundle = bench.compile({**candidate.brought, **candidate.source.modules})
    except GuestError as exc:
        if exc.kind != "type":
            raise
        candidate.bundle = ""  # the compiler's answer was longer than any answer may be
    if not 0 < len(candidate.bundle) <= MAX_BUNDLE:
        return [Diagnostic("", 0, f"the guest compiles to more than {MAX_BUNDLE // 1024} KiB")]
    return []
