"""Step: the candidate is for an aspect there is, and `guest.toml` is valid for it."""

from __future__ import annotations

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.layout import world_of
from thetis_kernel.forge.manifest import parse_manifest
from thetis_kernel.protocol.gate import Diagnostic


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Leaves the parsed manifest with the candidate."""
    source = candidate.source
    try:
        world = world_of(source.aspect)
    except ValueError as exc:
        return [Diagnostic("", 0, str(exc)[:200])]
    if world != source.world:
        return [Diagnostic("", 0, f"{source.aspect} is of the {world} world, not of {source.world}")]
    candidate.manifest = parse_manifest(source.manifest, source.aspect)
    return []
