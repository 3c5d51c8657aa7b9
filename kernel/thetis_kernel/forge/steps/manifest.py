"""Step: the candidate is for an aspect there is, `guest.toml` is valid for it, and a tool's name is free."""

from __future__ import annotations

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.layout import MANIFEST, world_of
from thetis_kernel.forge.manifest import line_of, parse_manifest
from thetis_kernel.forge.own_names import agents_own_names
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
    manifest = candidate.manifest = parse_manifest(source.manifest, source.aspect)
    if source.world == "tool" and {manifest.name, manifest.name.replace("-", "_")} & agents_own_names():
        words = f"the name {manifest.name} is one of the agent's own tools: call yours something else"
        return [Diagnostic(MANIFEST, line_of(source.manifest, "name"), words)]
    return []
