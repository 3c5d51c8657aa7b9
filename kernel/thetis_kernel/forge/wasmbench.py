"""The bench of wasm: opens the runtimes it was handed when a step first needs one, and bounds what a candidate uses.

The only module of the forge that loads the engine; the gate host makes one bench for its one candidate.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel.errors import GuestError, RuntimeBuildError
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.fakes.host import FakeHost
from thetis_kernel.forge.prepared import Prepared

if TYPE_CHECKING:
    from thetis_kernel.wasm.abort import Abort
    from thetis_kernel.wasm.engine import Runtime

TOTAL_CPU_MS = 20_000
"""Processor time one candidate has; well below the process's own limit, so that crossing it is a verdict, not a death."""
COMPILE_CPU_MS = 10_000
"""For compiling: 4,300 lines take 76 ms (measured.md)."""
WALL_S = 30.0
"""A call that neither computes nor returns for so long is given up: the process is thrown away anyway."""
GRACE_S = 5.0
"""How long an abort may take to be seen."""


class WasmBench:
    """`fds`: descriptors of sealed runtimes by world name ("tool", "compiler", ...); they stay open. `prepared`: codes of
    modules this process compiled already."""

    def __init__(self, fds: Mapping[str, int], prepared: Prepared | None = None) -> None:
        self._fds = dict(fds)
        self._prepared = prepared or Prepared()
        self._runtimes: dict[str, Runtime] = {}
        self._opening = threading.Lock()
        self._started = time.process_time()

    def warm(self) -> None:
        """Load what a candidate will need before it comes. What does not load is said by the step that needs it."""
        for world in self._fds:
            with contextlib.suppress(RuntimeBuildError):
                self._runtime(world)
        self._started = time.process_time()

    def compile(self, modules: dict[str, str]) -> str:
        """A bundle (base64). Raises GateError with the compiler's diagnostics, GuestError when it does not survive them."""
        missing = self._prepared.missing(modules)
        bundle = self._compiled(missing) if missing else ""
        try:
            whole = bundle if len(missing) == len(modules) else self._prepared.joined(modules, missing, bundle)
            if missing:
                self._prepared.keep(missing, bundle)
        except ValueError:  # not what a compiler answers; then nothing of it is to be put together with anything
            return self._compiled(modules)
        return whole

    def _compiled(self, modules: dict[str, str]) -> str:
        from thetis_kernel.wasm.compiler import compile_bundle
        from thetis_kernel.wasm.limits import COMPILER_LIMITS

        limits = msgspec.structs.replace(COMPILER_LIMITS, cpu_ms=self._left(COMPILE_CPU_MS))
        return compile_bundle(self._runtime("compiler"), modules, limits=limits)

    def call(self, candidate: Candidate, host: FakeHost, export: str, *args: str) -> str:
        """The text `export` answers. Raises GuestError."""
        from thetis_kernel.wasm.call import Abort, GuestCall, run_in_thread
        from thetis_kernel.wasm.limits import AGENT_LIMITS, PROBE_LIMITS

        memory = AGENT_LIMITS.memory_mib if candidate.source.world == "agent" else PROBE_LIMITS.memory_mib
        limits = msgspec.structs.replace(PROBE_LIMITS, cpu_ms=self._left(PROBE_LIMITS.cpu_ms), memory_mib=memory)
        abort = Abort()
        call = GuestCall(self._runtime(candidate.source.world), candidate.bundle, host.imports, limits, abort)
        return _result(run_in_thread(call, export, *args), abort, export)

    def _left(self, wanted: int) -> int:
        """Milliseconds a call may use of `wanted`."""
        return max(1, min(wanted, TOTAL_CPU_MS - int((time.process_time() - self._started) * 1000)))

    def _runtime(self, world: str) -> Runtime:
        from thetis_kernel.wasm.runtimes import open_runtime

        with self._opening:
            if world not in self._runtimes:
                if world not in self._fds:
                    raise RuntimeBuildError(f"The gate was not handed the {world} runtime.")
                self._runtimes[world] = open_runtime(world, self._fds[world])
            return self._runtimes[world]


def _result(future: Future[str], abort: Abort, export: str) -> str:
    for seconds, reason in ((WALL_S, ""), (GRACE_S, "its time is over")):
        if reason:
            abort.fire(reason)
        try:
            return future.result(seconds)
        except TimeoutError:
            continue
    raise GuestError(f"{export} does not end.", kind="timeout")
