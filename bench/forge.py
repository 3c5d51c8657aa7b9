"""What a verdict costs: judge times in a cold and a warm gate host, a warm start from the store. `python -m bench.forge`"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.service import Forge
from thetis_kernel.forge.source import read_guest
from thetis_kernel.gateway.plain import render_plain
from thetis_kernel.protocol.events import Event, User, encode_body
from thetis_kernel.protocol.face import FaceEvent, RenderEvents
from thetis_kernel.protocol.gate import GuestSource, JudgeGuest, Verdict
from thetis_kernel.supervise.spawn import Plan, spawn
from thetis_kernel.wasm.runtimes import ensure_runtimes, seal

from bench.report import emit

FIGURES = [
    "judge_tool_cold_ms", "judge_tool_warm_ms", "judge_agent_4000_cold_ms", "judge_agent_4000_warm_ms",
    "judge_agent_4000_compile_ms", "judge_agent_4000_smoke_ms", "judge_agent_4000_imports_ms", "artifact_put_ms",
    "artifact_known_ms", "render_50_ms", "render_plain_50_ms",
]  # fmt: skip

GUESTS = Path(__file__).parents[1] / "tests" / "fixtures" / "guests"
N = 15


def large_agent() -> GuestSource:
    """The small fixture agent with further modules of 4,000 lines in all, which it imports."""
    small = read_guest(GUESTS / "agent_good", "agent")
    unit = ('def f{n}(a: int, b: str = "") -> dict:\n    """doc"""\n    kept: list[object] = [a, b, {n}]\n'
            '    return {{"kept": kept}}\n\n\n')  # fmt: skip
    parts = {f"part{m}": "".join(unit.format(n=n) for n in range(71)) for m in range(8)}
    main = "".join(f"import {name}\n" for name in parts)
    head, _, rest = small.modules["main"].partition("from thetis_guest")
    return GuestSource("agent", "agent", small.manifest, {"main": f"{head}{main}from thetis_guest{rest}", **parts})


def figure(name: str, times: list[float], against: str | None = None) -> None:
    """A median in milliseconds."""
    emit(name, statistics.median(times), "ms", len(times), sorted(times)[int(len(times) * 0.95)], against)


async def judged(source: GuestSource, fds: dict[str, int], warm: bool) -> tuple[float, Verdict]:
    """Milliseconds to a verdict. Cold: from spawn. Warm: from the request, in a host that is up (a spare)."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="thetis-bench-") as scratch:
        child = await spawn(Plan("gate", fds=fds, settings={"THETIS_SCRATCH": scratch}))
        if warm:
            started = time.perf_counter()
        verdict = await child.peer.call(JudgeGuest(source, "k"))
        took = (time.perf_counter() - started) * 1000
        child.kill()
        await child.wait()
    if not verdict.ok:
        raise SystemExit(f"{source.aspect} does not pass: {verdict.steps[-1]}")
    return took, verdict


async def judging(fds: dict[str, int]) -> None:
    tool, agent = read_guest(GUESTS / "tool_good", "tool/good"), large_agent()
    for name, source in (("tool", tool), ("agent_4000", agent)):
        for warm in (False, True):
            times = [(await judged(source, fds, warm))[0] for _ in range(N)]
            figure(f"judge_{name}_{'warm' if warm else 'cold'}_ms", times)
    _, verdict = await judged(agent, fds, True)
    for step in verdict.steps:
        if f"judge_agent_4000_{step.step}_ms" not in FIGURES:
            continue
        emit(f"judge_agent_4000_{step.step}_ms", step.ms, "ms", 1)


async def storing(fds: dict[str, int]) -> None:
    agent = large_agent()
    _, verdict = await judged(agent, fds, True)

    async def judge(ask: JudgeGuest) -> Verdict:
        return Verdict(verdict.ok, ask.key, verdict.steps, verdict.bundle, verdict.describes)

    puts, known = [], []
    with tempfile.TemporaryDirectory() as directory:
        for n in range(N):
            forge = Forge(ArtifactStore(Path(directory) / str(n)), judge)
            started = time.perf_counter()
            await forge.verdict(agent)
            puts.append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            Forge(ArtifactStore(Path(directory) / str(n)), judge).known(agent)
            known.append((time.perf_counter() - started) * 1000)
    figure("artifact_put_ms", puts)
    figure("artifact_known_ms", known)


async def rendering(fds: dict[str, int]) -> None:
    gateway = read_guest(GUESTS / "gateway_good", "gateway/tui")
    _, verdict = await judged(gateway, fds, True)
    child = await spawn(Plan("face", fds={"runtime-gateway": fds["runtime-gateway"]}))
    raw = encode_body(User("A message of ordinary length, of which there are many. " * 6))
    found = [FaceEvent(seq, "user", 0, raw) for seq in range(1, 51)]
    await child.peer.call(RenderEvents("k", found, verdict.bundle))
    times, plain = [], []
    for _ in range(3 * N):
        started = time.perf_counter()
        await child.peer.call(RenderEvents("k", found))
        times.append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        render_plain([Event("s", e.seq, "e", 0, e.kind, 1, e.body) for e in found])
        plain.append((time.perf_counter() - started) * 1000)
    child.kill()
    await child.wait()
    figure("render_50_ms", times)
    figure("render_plain_50_ms", plain)


async def main() -> None:
    worlds = ("tool", "agent", "gateway", "compiler")
    ensure_runtimes(worlds, progress=lambda _: None)
    fds = {f"runtime-{world}": seal(world) for world in worlds}
    await judging(fds)
    await storing(fds)
    await rendering(fds)


if __name__ == "__main__":
    asyncio.run(main())
