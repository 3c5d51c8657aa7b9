"""Whole turns and what they cost: start-up, a cold turn, workers, memory, the model's round trip, a large checkout.

Turns go through the console script or a real gateway with its real children.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import emit
from tests.support.gateways import Opened, gateway
from tests.support.thetis import THETIS, World

FIGURES = [
    "version_s", "cold_turn_rehearsal_s", "worker_spawn_s", "worker_marginal_pss_mib", "idle_20_conversations_mib",
    "agent_turn_guest_ms", "model_roundtrip_overhead_ms", "model_roundtrip_overhead_2mb_ms", "ui_stall_during_worktree_50k_ms",
]


def timed(work: Callable[[], Any], n: int) -> list[float]:
    times = []
    for _ in range(n):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return times


def say(name: str, values: list[float], unit: str, against: str) -> None:
    ordered = sorted(values)
    emit(name, statistics.median(ordered), unit, len(ordered), p95=ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
         against=against)


def start_up() -> None:
    def bare() -> None:
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)

    def version() -> None:
        subprocess.run([THETIS, "--version"], check=True, stdout=subprocess.DEVNULL)

    version()
    baseline = statistics.median(timed(bare, 10))
    say("version_s", timed(version, 15), "s", f"<= 0.15; python -I -c pass in the same run {baseline:.3f} s")


def cold_turn() -> None:
    with tempfile.TemporaryDirectory() as base:
        world = World(Path(base))
        world.make_repository({f"src/f{n}.py": f"x = {n}\n" for n in range(40)} | {"README.md": "# Bench\n"})
        world.run("run", "list")  # the shipped guests are judged, caches are warm; each further turn is still a cold process

        def asyncio_only() -> None:
            subprocess.run([sys.executable, "-I", "-c", "import asyncio; asyncio.run(asyncio.sleep(0))"], check=True)

        baseline = statistics.median(timed(asyncio_only, 5))
        times = timed(lambda: world.run("run", "list"), 10)
        say("cold_turn_rehearsal_s", times, "s", f"<= 1.2; python with asyncio in the same run {baseline:.3f} s")


def pss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def tree(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += tree(int(child))
    return found


async def turn(g: Opened, prompt: str = "list") -> str:
    session = await g.start(prompt)
    await g.client.wait_idle(session)
    return session


async def workers() -> None:
    with tempfile.TemporaryDirectory() as base:
        async with gateway(Path(base)) as g:
            await turn(g)
            spawns = []
            for _ in range(6):
                made = await g.client.create(origin="tui")
                await g.gateway.workers.discard(made.id)
                started = time.perf_counter()
                await g.gateway.workers.ensure(made.id)
                spawns.append(time.perf_counter() - started)
                await g.gateway.workers.discard(made.id)
            say("worker_spawn_s", spawns, "s", "<= 0.6; spawn to hello")
            sessions = [await turn(g) for _ in range(5)]
            fifth = pss_mib(g.worker_pid(sessions[-1]))
            first = pss_mib(g.worker_pid(sessions[0]))
            emit("worker_marginal_pss_mib", fifth, "MiB", 1, against=f"<= 36; the first of the five {first:.1f}")


IDLE = """
import asyncio, sys
from pathlib import Path
from tests.support.gateways import gateway
async def main():
    async with gateway(Path(sys.argv[1])) as g:
        for _ in range(20):
            s = await g.start("list")
            await g.client.wait_idle(s)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
"""


def idle() -> None:
    with tempfile.TemporaryDirectory() as base:
        child = subprocess.Popen([sys.executable, "-c", IDLE, base], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if child.stdout is None or child.stdout.readline().strip() != "ready":
            raise RuntimeError("the gateway did not start")
        pids = tree(child.pid)
        total = sum(pss_mib(pid) for pid in pids)
        emit("idle_20_conversations_mib", total, "MiB", 1, against=f"<= 900; PSS of {len(pids)} processes")
        child.communicate("done\n", timeout=60)


def agent_turn() -> None:
    from thetis_kernel.forge.builtin import shipped_guests
    from thetis_kernel.forge.source import read_guest
    from thetis_kernel.protocol import events as ev
    from thetis_kernel.wasm.call import Abort, GuestCall, run_in_thread
    from thetis_kernel.wasm.compiler import compile_bundle
    from thetis_kernel.wasm.limits import AGENT_LIMITS
    from thetis_kernel.wasm.runtimes import open_runtime, seal

    source = read_guest(shipped_guests()["agent"], "agent")
    bundle = compile_bundle(open_runtime("compiler", seal("compiler")), source.modules)
    runtime = open_runtime("agent", seal("agent"))
    bodies: list[ev.Body] = [ev.SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x")]
    for n in range(16):
        call = f"call_{n}"
        bodies += [
            ev.User(text=f"question {n}"), ev.TurnStarted(turn=f"t{n}", mode="agent", model="m"),
            ev.Assistant(
                blocks=[{"type": "text", "text": "Looking."},
                        {"type": "tool_use", "id": call, "name": "read", "input": {"path": "a.py"}}],
                end="tool-use", turn=f"t{n}"),
            ev.ToolInvocation(call=call, name="read", args={"path": "a.py"}, op="files.read-file", mutating=False, turn=f"t{n}"),
            ev.ToolResult(call=call, outcome="ok", turn=f"t{n}", content=json.dumps(
                {"path": "a.py", "text": "x = 1\n" * 100, "first": 1, "lines": 100, "total": 100, "truncated": False})),
            ev.Assistant(blocks=[{"type": "text", "text": "It is so. " * 20}], turn=f"t{n}"),
        ]
    bodies += [ev.User(text="and now?"), ev.TurnStarted(turn="t", mode="agent", model="m"), ev.SystemNote(text="a note")]
    page = json.dumps({"events": [{"seq": n, "kind": ev.kind_of(b), "ts_ms": n, "body": json.loads(ev.encode_body(b))}
                                  for n, b in enumerate(bodies, 1)], "next": len(bodies), "end": True})
    turn_json = json.dumps({"session": "s", "turn": "t", "mode": {"id": "agent", "label": "Agent", "read_only": False,
                                     "prompt": ""},
                            "model": {"id": "m", "label": "m", "window": 200000, "max_output": 8192},
                            "root": {"path": ".", "branch": "conv/x", "project_rules": "", "workspace": []},
                            "limits": {"iterations": 60, "tokens": 10**6, "wall_ms": 10**6}, "attempt": 0})
    times: list[float] = []

    def once() -> None:
        abort, reached = Abort(), threading.Event()
        started = time.perf_counter()

        def complete(request_json: str) -> str:
            times.append((time.perf_counter() - started) * 1000)
            reached.set()
            abort.fire("measured")
            return "{}"

        imports: dict[str, Any] = {
            "session.read": lambda after, limit: page, "session.poll-inbox": lambda: '{"cancelled":false,"nudges":[]}',
            "tooling.registry": lambda: "[]", "llm.complete": complete, "sys.now-ms": lambda: 0,
        }
        future = run_in_thread(GuestCall(runtime, bundle, imports, AGENT_LIMITS, abort=abort), "handle-turn", turn_json)
        future.exception(timeout=30)
        if not reached.is_set():
            raise RuntimeError(f"the agent asked nothing: {future.exception()}")

    for _ in range(25):
        once()
    say("agent_turn_guest_ms", times[5:], "ms", f"<= 60; load to first model request, {len(bodies)} events")


async def model_round_trip() -> None:
    from thetis_kernel.models.registry import standard
    from thetis_kernel.protocol.models import ModelRequest

    with tempfile.TemporaryDirectory() as base:
        async with gateway(Path(base)) as g:
            session = await turn(g)
            for name, size, limit, n in (("model_roundtrip_overhead_ms", 20_000, 30, 40),
                                         ("model_roundtrip_overhead_2mb_ms", 2_000_000, 250, 10)):
                filler = "x" * (size - 300)
                messages = [{"role": "user", "content": [{"type": "text", "text": f"{filler}"}]},
                            {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
                            {"role": "user", "content": [{"type": "text", "text": "help"}]}]
                raw = json.dumps({"system": "s", "messages": messages, "tools": [], "max_tokens": 100}).encode()
                backend = standard({"THETIS_REHEARSAL_DELAY_MS": "0"}).backend("rehearsal")
                request = ModelRequest(model="rehearsal", system="s", messages=messages, max_tokens=100)
                direct = statistics.median(timed(lambda: list(backend.stream(request, threading.Event())), n))  # noqa: B023
                times = []
                for _ in range(n):
                    started = time.perf_counter()
                    await g.gateway.models.complete(session, "", raw, False, asyncio.Event())
                    times.append((time.perf_counter() - started - direct) * 1000)
                say(name, times, "ms", f"<= {limit}; over the same stream in this process, {direct * 1000:.2f} ms")


async def large_checkout() -> None:
    base = Path(tempfile.mkdtemp())
    try:
        files: dict[str, str | bytes] = {f"d{n % 200:03}/e{n % 7}/f{n}.txt": f"{n}\n" for n in range(50_000)}
        async with gateway(base, files) as g:
            gaps: list[float] = []
            done = asyncio.Event()

            async def heart() -> None:
                while not done.is_set():
                    started = time.perf_counter()
                    await asyncio.sleep(0.005)
                    gaps.append((time.perf_counter() - started - 0.005) * 1000)

            beating = asyncio.create_task(heart())
            await asyncio.sleep(0.5)
            quiet, gaps[:] = max(gaps), []
            started = time.perf_counter()
            session = await g.start("list")
            await g.client.wait_idle(session)
            took = time.perf_counter() - started
            done.set()
            await beating
            emit("ui_stall_during_worktree_50k_ms", max(gaps), "ms", len(gaps), p95=sorted(gaps)[int(len(gaps) * 0.95)],
                 against=f"<= 50; longest gap of the loop, quiet loop {quiet:.1f} ms, whole turn {took:.1f} s")
    finally:
        shutil.rmtree(base, ignore_errors=True)


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    start_up()
    cold_turn()
    asyncio.run(workers())
    idle()
    agent_turn()
    asyncio.run(model_round_trip())
    asyncio.run(large_checkout())


if __name__ == "__main__":
    main()
