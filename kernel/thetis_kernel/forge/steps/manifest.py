"""Step: `guest.toml` is valid for this aspect."""

from __future__ import annotations

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.manifest import parse_manifest
from thetis_kernel.protocol.gate import Diagnostic


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Leaves the parsed manifest with the candidate."""
    candidate.manifest = parse_manifest(candidate.source.manifest, candidate.source.aspect)
    return []
