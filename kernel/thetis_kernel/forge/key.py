"""The artifact key: what a verdict depends on, and nothing else.

Two candidates with one key would get one verdict, so the key takes in everything the gate looks at: sources,
aspect, world, the runtimes (contract, shim, SDK, toolchain, engine and CPU are inside their keys) and the gate
itself. Imports no engine and no steps.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from thetis_kernel.forge.checkers import versions
from thetis_kernel.forge.own_names import agents_own_names
from thetis_kernel.forge.source import source_digest
from thetis_kernel.protocol.gate import GuestSource
from thetis_kernel.wasm.runtimes import runtime_digest

KEY = re.compile(r"[0-9a-f]{64}")


Digests = Callable[[str], str]
"""The digest of a world's runtime as built: it bakes in its own hash seed, so two builds of one key differ."""


def artifact_key(source: GuestSource, digests: Digests = runtime_digest) -> str:
    """SHA-256 (64 hex digits) naming the artifact of `source`. Raises RuntimeBuildError when a runtime is missing."""
    runtime, compiler = digests(source.world), digests("compiler")
    return _digest((source.aspect, source.world, source_digest(source), runtime, compiler, gate_version()))


@functools.cache
def gate_version() -> str:
    """Digest over the gate's own code, its checkers' versions, the names that are taken and the vocabularies it holds guests
    to: a changed check makes every verdict of the old one unknown, not wrong."""
    kernel = Path(__file__).parents[1]
    shared = [kernel / "protocol" / name for name in ("blocks.py", "bodies.py", "events.py", "history.py")]
    files = [*sorted((kernel / "forge").rglob("*.py")), *shared]
    texts = [text for file in files for text in (file.relative_to(kernel).as_posix(), file.read_text())]
    return _digest([versions(), *sorted(agents_own_names()), *texts])


def _digest(parts: Iterable[str]) -> str:
    """SHA-256 over parts, each with its length before it, so that no two lists of parts are one text."""
    digest = hashlib.sha256(b"thetis-artifact-1")
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
