"""A bench without wasm: exports are Python functions given the host; what they raise or return is the guest's doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_kernel.errors import GuestError
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.fakes.host import FakeHost

Export = Callable[..., str]


class FakeBench:
    """`exports`: export name -> function of (host, *args). `calls` records (export, args)."""

    def __init__(self, compiled: str | Exception = "Y29kZQ==", **exports: Export | str | Exception) -> None:
        self._compiled = compiled
        self._exports = {name.replace("_", "-"): export for name, export in exports.items()}
        self.calls: list[tuple[str, tuple[str, ...]]] = []

    def compile(self, modules: dict[str, str]) -> str:
        if isinstance(self._compiled, Exception):
            raise self._compiled
        return self._compiled

    def call(self, candidate: Candidate, host: FakeHost, export: str, *args: str) -> str:
        self.calls.append((export, args))
        found: Any = self._exports.get(export, GuestError(f"no {export}", kind="type"))
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, str) else found(host, *args)
