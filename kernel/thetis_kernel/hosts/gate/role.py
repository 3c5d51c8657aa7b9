"""The role: one request, `JudgeGuest`, answered with a verdict."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from thetis_kernel.errors import UsageError
from thetis_kernel.forge.pipeline import judge
from thetis_kernel.forge.prepared import Prepared
from thetis_kernel.forge.steps import STEPS
from thetis_kernel.forge.wasmbench import WasmBench
from thetis_kernel.hosts.gate.ahead import in_background
from thetis_kernel.hosts.gate.limits import confine
from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol.gate import JudgeGuest, Verdict
from thetis_kernel.supervise.context import ChildContext

PREFIX = "runtime-"
"""Descriptors named `runtime-<world>` are sealed runtimes."""
SCRATCH = "THETIS_SCRATCH"
"""The setting that names the directory this process may write to; the gateway makes it and removes it."""


def serve(context: ChildContext) -> None:
    """Judge the one candidate this process is for; a second request is refused: its process would not be clean."""
    scratch = context.settings.get(SCRATCH)
    tempfile.tempdir = scratch or "/nonexistent"
    confine(Path(scratch) if scratch else None)
    fds = {name.removeprefix(PREFIX): fd for name, fd in context.fds.items() if name.startswith(PREFIX)}
    prepared = Prepared()
    bench = WasmBench(fds, prepared)
    used, wanted = threading.Lock(), threading.Event()

    def judge_guest(ask: JudgeGuest, serving: Serving) -> Verdict:
        wanted.set()
        if not used.acquire(blocking=False):
            raise UsageError("This gate has judged its candidate; each needs a process of its own.")
        return judge(ask.source, ask.key, bench, STEPS, prepared)

    context.connect(asks={JudgeGuest: judge_guest})
    context.start()
    bench.warm()
    in_background(fds, prepared, bench, wanted.is_set)
    context.wait()
