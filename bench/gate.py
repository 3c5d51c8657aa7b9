"""What each step of the gate costs, and what fifty tools take on disk. `python -m bench.gate`"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.builtin import builtin_sources
from thetis_kernel.forge.candidate import Candidate, Step
from thetis_kernel.forge.service import Forge
from thetis_kernel.forge.steps import STEPS
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import GuestSource
from thetis_kernel.wasm.runtimes import ensure_runtimes, seal

from bench.report import emit

FIGURES = [
    "gate_step_manifest_ms", "gate_step_layout_ms", "gate_step_ruff_ms", "gate_step_imports_ms", "gate_step_ty_ms",
    "gate_step_compile_ms", "gate_step_exports_ms", "gate_step_smoke_ms", "gate_step_golden_ms", "gate_step_tests_ms",
    "artifacts_50_tools_mib",
]  # fmt: skip
N = 15
TOOLS = 50
SPARE_S = 30.0
TEST = "import main\n\n\ndef test_it() -> None:\n    assert main.describe()\n"


def varied(source: GuestSource, number: int) -> GuestSource:
    """The same guest as another revision, with a test of its own."""
    main = f"{source.modules['main']}\n# {number}\n"
    return msgspec.structs.replace(source, modules={**source.modules, "main": main, "test_bench": TEST})


async def main() -> None:
    worlds = ("tool", "agent", "gateway", "compiler")
    ensure_runtimes(worlds, progress=lambda _: None)
    fds = {f"runtime-{world}": seal(world) for world in worlds}

    async def some(*wanted: str) -> dict[str, int]:
        return {f"runtime-{world}": fds[f"runtime-{world}"] for world in wanted}

    sources = {source.aspect: source for source in builtin_sources()}
    judge = DisposableJudge(some, spare_s=SPARE_S)
    try:
        with tempfile.TemporaryDirectory(prefix="thetis-bench-") as directory:
            await steps(Forge(ArtifactStore(Path(directory)), judge), sources["agent"])
        with tempfile.TemporaryDirectory(prefix="thetis-bench-") as directory:
            await tools(Path(directory), judge, [each for each in sources.values() if each.world == "tool"])
    finally:
        await judge.close()


async def steps(forge: Forge, agent: GuestSource) -> None:
    """The shipped agent, which every step has the most to do with; ruff and ty run beside the others."""
    took: dict[str, list[float]] = {step.name: [] for step in STEPS}
    for number in range(N):
        verdict = await forge.verdict(varied(agent, number))
        if not verdict.ok:
            raise SystemExit(f"the agent does not pass: {verdict.steps[-1]}")
        for step in verdict.steps:
            took[step.step].append(step.ms)
    for step in STEPS:
        if step.beside:  # in a verdict their time is what was waited for; this is what they take
            took[step.name] = [alone(step, varied(agent, number)) for number in range(N)]
    for name, times in took.items():
        emit(f"gate_step_{name}_ms", statistics.median(times), "ms", N, sorted(times)[int(N * 0.95)], "agent_core")


def alone(step: Step, source: GuestSource) -> float:
    """Milliseconds of one of the checkers by itself."""
    began = time.perf_counter()
    if found := step.run(Candidate(source), None):  # type: ignore[arg-type]
        raise SystemExit(f"the agent does not pass: {found[:1]}")
    return (time.perf_counter() - began) * 1e3


async def tools(directory: Path, judge: DisposableJudge, shipped: list[GuestSource]) -> None:
    """Bytes of fifty different tools, made of those that ship."""
    forge = Forge(ArtifactStore(directory), judge)
    for number in range(TOOLS):
        verdict = await forge.verdict(varied(shipped[number % len(shipped)], number))
        if not verdict.ok:
            raise SystemExit(f"a tool does not pass: {verdict.steps[-1]}")
    size = sum(path.stat().st_blocks * 512 for path in directory.rglob("*"))
    emit("artifacts_50_tools_mib", size / 2**20, "MiB", TOOLS, against="goal 5; blocks on disk")


if __name__ == "__main__":
    asyncio.run(main())
