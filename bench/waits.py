"""A parent asleep: how soon it is awake once its sub-agent's end is durable, how soon a stop has ended the sleep, and what a
minute of sleep costs its process.

wake: from the client hearing the durable child-settled until it hears the durable result of `wait`, beside an append of the same
gateway. asleep: processor seconds of the worker in 60 s, beside the same worker with nothing to do at all.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from thetis_kernel.protocol.client import EventStored
from thetis_kernel.protocol.events import ChildSettled, SystemNote, ToolInvocation, ToolResult, TurnFinished
from thetis_kernel.protocol.wire import Tell

from bench.report import emit
from tests.support.gateways import Opened, gateway

FIGURES = ["wake_p50_ms", "wake_stop_p50_ms", "asleep_cpu_s_per_min"]
ROUNDS = 20
SECONDS = 60.0
_TICK = os.sysconf("SC_CLK_TCK")


class Watch:
    """When events of a kind were heard, on the performance counter."""

    def __init__(self, g: Opened) -> None:
        self.times: dict[type, float] = {}
        g.client.listen(self._hear)

    def _hear(self, tell: Tell) -> None:
        if isinstance(tell, EventStored):
            body = tell.event.body
            if isinstance(body, ToolResult) and "woken_by" not in body.content:
                return
            self.times[type(body)] = time.perf_counter()


def cpu(pid: int) -> float:
    """Processor seconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


async def asleep(g: Opened, words: str) -> str:
    """A conversation whose parent sleeps and whose child does, too."""
    g.heard.clear()
    session = await g.start(words)
    await g.until(lambda heard: any(isinstance(t, EventStored) and isinstance(t.event.body, ToolInvocation)
                                    and t.event.body.op == "wait.until" for t in heard))
    await asyncio.sleep(0.3)  # well inside, its child too
    return session


async def wakes(g: Opened) -> list[float]:
    """Milliseconds from a child's end to the parent's answer."""
    took = []
    for _ in range(ROUNDS):
        session = await asleep(g, "have agents nap 300")
        watch = Watch(g)
        [child] = await g.client.children(session)
        await g.client.stop_child(session, child.child)
        await g.client.wait_idle(session)
        took.append((watch.times[ToolResult] - watch.times[ChildSettled]) * 1000)
        await g.gateway.workers.discard(session)
    return took


async def stops(g: Opened) -> list[float]:
    """Milliseconds from a stop to the durable end of a turn that slept."""
    took = []
    for _ in range(ROUNDS):
        session = await asleep(g, "nap 300")
        watch = Watch(g)
        began = time.perf_counter()
        await g.client.stop(session)
        await g.client.wait_idle(session)
        took.append((watch.times[TurnFinished] - began) * 1000)
        await g.gateway.workers.discard(session)
    return took


async def appends(g: Opened) -> float:
    """Milliseconds of one durable append, the median."""
    made = await g.client.create(origin="headless")
    took = []
    for _ in range(100):
        began = time.perf_counter()
        await g.gateway.log.append(made.id, SystemNote(text="x", about="bench"))
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


async def measure() -> None:
    with tempfile.TemporaryDirectory() as base:
        async with gateway(Path(base), {"m.py": "x = 1\n"}) as g:
            floor = await appends(g)
            for name, took in (("wake_p50_ms", await wakes(g)), ("wake_stop_p50_ms", await stops(g))):
                ordered = sorted(took)
                emit(name, statistics.median(ordered), "ms", len(ordered), p95=ordered[int(len(ordered) * 0.95)],
                     against=f"an append: {floor:.2f} ms")
            session = await asleep(g, "have agents nap 600")
            pid = g.worker_pid(session)
            before = cpu(pid)
            await asyncio.sleep(SECONDS)
            spent = cpu(pid) - before
            await g.client.stop(session)
            await g.client.wait_idle(session)
            before = cpu(pid)
            await asyncio.sleep(SECONDS / 2)
            idle = (cpu(pid) - before) * 2
            emit("asleep_cpu_s_per_min", spent, "s", 1, against=f"the same worker idle: {idle:.2f} s")


if __name__ == "__main__":
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    asyncio.run(measure())
