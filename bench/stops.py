"""How soon a stop has stopped: from the client's Stop until it hears of the durable turn-finished.

Each place a turn can be in when the person presses the key: a streaming reply (real SDK, real HTTP), a command behind the
walls, the wait before a retry, a loop in the agent guest, a loop in a tool guest.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from thetis_kernel.protocol.client import Delta, EventStored
from thetis_kernel.protocol.events import ToolInvocation, TurnFinished
from thetis_kernel.protocol.wire import Tell
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.wasm.compiler import compile_bundle
from thetis_kernel.wasm.runtimes import open_runtime, seal

from bench.report import emit
from tests.support.gateways import Opened, gateway
from tests.support.messages_server import Answer, MessagesServer, Request, error, reply, spaced, text

FIGURES = [
    "stop_latency_ms",
    "stop_latency_streaming_ms",
    "stop_latency_command_ms",
    "stop_latency_retry_ms",
    "stop_latency_agent_loop_ms",
    "stop_latency_tool_loop_ms",
]
ROUNDS = 12
LOOPING_AGENT = {
    "main": """
from thetis_guest import session
def handle_turn(turn):
    session.append("system-note", {"text": "looping", "about": "loop"})
    while True:
        pass
"""
}
LOOPING_TOOL = {
    "main": """
def invoke(session_id, args, config):
    while True:
        pass
"""
}


def answered(request: Request) -> Answer:
    """Slow words, or an invitation to come back later."""
    if "later" in str(request.messages[-1]):
        return error(429, retry_after="60")
    return spaced(reply(text("word " * 2000)), 0.02)


def looping(guest: GuestBundle, modules: dict[str, str]) -> GuestBundle:
    """`guest` with other code."""
    bundle = compile_bundle(open_runtime("compiler", seal("compiler")), modules)
    return GuestBundle(
        aspect=guest.aspect, key="looping", bundle=bundle, describes=guest.describes, config=guest.config
    )


def streams(kind: str) -> Callable[[Tell], bool]:
    return lambda tell: isinstance(tell, Delta) and tell.kind == kind


def stores(word: str) -> Callable[[Tell], bool]:
    return lambda tell: isinstance(tell, EventStored) and word in tell.event.raw.decode()


async def stopped(g: Opened, model: str, words: str, begun: Callable[[Tell], bool]) -> float:
    """Milliseconds of one stop."""
    made = await g.client.create(origin="tui", model=model)
    await g.client.subscribe(made.id)
    await g.client.submit(made.id, words)
    await g.until(lambda heard: any(begun(tell) for tell in heard))
    await asyncio.sleep(0.05)  # well inside
    g.heard.clear()
    started = time.perf_counter()
    await g.client.stop(made.id)
    await g.until(
        lambda heard: any(isinstance(t, EventStored) and isinstance(t.event.body, TurnFinished) for t in heard)
    )
    took = (time.perf_counter() - started) * 1000
    await g.client.wait_idle(made.id)
    g.heard.clear()
    await g.gateway.workers.discard(made.id)
    return took


def say(name: str, times: list[float], against: str) -> None:
    ordered = sorted(times)
    emit(name, statistics.median(ordered), "ms", len(ordered), p95=ordered[int(len(ordered) * 0.95)], against=against)


async def measure() -> None:
    with tempfile.TemporaryDirectory() as base, MessagesServer(answered) as server:
        Path(base, "none.toml").write_text(
            f'[[providers]]\nname = "anthropic"\nbase_url = "{server.url}"\nkey = "env:BENCH_KEY"\n'
        )
        os.environ["BENCH_KEY"] = "sk-bench"
        async with gateway(Path(base), {"m.py": "x = 1\n"}) as g:
            real = next(model.id for model in await g.gateway.models.models() if model.id != "rehearsal")
            agent, tools = await g.gateway.guests.agent(""), await g.gateway.guests.tools("")
            loop_agent = looping(agent, LOOPING_AGENT)
            loop_tools = [looping(tool, LOOPING_TOOL) for tool in tools]
            found: dict[str, list[float]] = {}

            async def each(name: str, *how: object) -> None:
                found[name] = [await stopped(g, *how) for _ in range(ROUNDS)]  # type: ignore[arg-type]

            await each("streaming", real, "talk", streams("text"))
            await each("retry", real, "come back later", streams("waiting"))
            await each("command", "rehearsal", "run echo begun; sleep 60", streams("output"))

            async def looping_tools(_: str) -> list[GuestBundle]:
                return loop_tools

            g.gateway.guests.tools = looping_tools  # type: ignore[assignment]
            await each(
                "tool_loop",
                "rehearsal",
                "outline m.py",
                lambda t: isinstance(t, EventStored) and isinstance(t.event.body, ToolInvocation),
            )

            async def looping_agent(_: str) -> GuestBundle:
                return loop_agent

            g.gateway.guests.agent = looping_agent  # type: ignore[assignment]
            await each("agent_loop", "rehearsal", "loop", stores('"looping"'))

            base_times = []
            session = (await g.client.create(origin="tui")).id
            for n in range(20):
                started = time.perf_counter()
                await g.client.set(session, "title", f"title {n}")
                base_times.append((time.perf_counter() - started) * 1000)
            against = f"p95 <= 200; one durable setting through the same door {statistics.median(base_times):.1f} ms"
            for name, times in found.items():
                say(f"stop_latency_{name}_ms", times, against)
            say("stop_latency_ms", [t for times in found.values() for t in times], against)


if __name__ == "__main__":
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    asyncio.run(measure())
