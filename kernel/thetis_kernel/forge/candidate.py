"""What the steps of the gate share: the candidate on its way, and the seam to the wasm that runs it.

A step is a function of both that returns complaints. It knows no processes, stores or other steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Protocol

from thetis_kernel.forge.fakes.host import FakeHost
from thetis_kernel.forge.layout import paths_of
from thetis_kernel.forge.manifest import Manifest
from thetis_kernel.forge.packages import modules_of
from thetis_kernel.forge.prepared import Prepared
from thetis_kernel.protocol.gate import Diagnostic, GuestSource


@dataclasses.dataclass(slots=True)
class Candidate:
    """A guest under judgement. Steps fill in `manifest`, `bundle` and `describes` (describe()'s JSON) for later ones;
    `prepared` is what is known of single modules already."""

    source: GuestSource
    manifest: Manifest | None = None
    bundle: str = ""
    describes: str = ""
    prepared: Prepared = dataclasses.field(default_factory=Prepared)

    @property
    def paths(self) -> dict[str, str]:
        """The file of each module, relative to the guest's directory."""
        return paths_of(self.source.modules)

    @property
    def brought(self) -> dict[str, str]:
        """The modules of the packages it brings along."""
        return modules_of(self.source.packages)


class Bench(Protocol):
    """Wasm, as far as the steps need it."""

    def compile(self, modules: dict[str, str]) -> str:
        """A bundle (base64). Raises GateError with the compiler's diagnostics."""
        ...

    def call(self, candidate: Candidate, host: FakeHost, export: str, *args: str) -> str:
        """The text an export answers in a fresh store with the host's imports. Raises GuestError."""
        ...


class Step(NamedTuple):
    """One check: its name in the verdict, and the function that returns what it complains about.

    GateError and GuestError may leave `run` too: they count as complaints. `beside`: it leaves nothing with
    the candidate, so the steps after it need not wait for it.
    """

    name: str
    run: Callable[[Candidate, Bench], list[Diagnostic]]
    beside: bool = False
