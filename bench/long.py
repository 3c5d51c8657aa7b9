"""Long conversations: what a turn's start costs when most of one is summed up, what opening 100 MB costs; and the tools' size.

Logs are written into a real store, turns go through a real gateway with its children. `python -m bench.long`
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from thetis_kernel.paths import builtin_root, root_paths
from thetis_kernel.protocol.client import EventStored
from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Compaction,
    SessionStarted,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    User,
)
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store.store import Store

from bench.report import emit
from tests.support.gateways import Opened, gateway
from tests.support.native_guest import native_guest, shipped_tools
from tests.support.thetis import World

FIGURES = ["turn_start_10k_vs_100_events", "turn_start_10k_ms", "resume_100mb_s", "tool_block_kib", "tool_block_grouped_kib"]
LONG, SHORT = 10_000, 100
SPOKEN = 50
"""Events between two messages of the person."""
KEPT = 60
"""Events at each end that no compaction covers."""
TURNS = 9
MEGABYTES = 100


def main() -> None:
    tools()
    with tempfile.TemporaryDirectory(prefix="bench-long-") as base:
        asyncio.run(turn_starts(Path(base)))
    with tempfile.TemporaryDirectory(prefix="bench-long-") as base:
        asyncio.run(resume(Path(base)))


def tools() -> None:
    """The whole list of tools on the wire, every shipped tool guest included, and what an ordinary opening gets of it."""
    registry = shipped_tools()
    with native_guest(builtin_root() / "aspects" / "agent_core"):
        toolbox, groups = sys.modules["toolbox"], sys.modules["groups"]
        whole = toolbox.Toolbox(registry, False, "agent")
        turn = {"tool_groups": {"grouping": True}}
        loaded = groups.Loaded(turn, {})
        loaded.why = groups.routed(turn, "Fix the failing check in the parser, please.")
        some = toolbox.Toolbox(registry, False, "agent", loaded)
        emit("tool_block_kib", toolbox.size(whole.definitions()) / 1024, "KiB", len(whole.definitions()), against="<= 20")
        emit("tool_block_grouped_kib", toolbox.size(some.definitions()) / 1024, "KiB", len(some.definitions()),
             against="an ordinary opening, grouping on")


def bodies(count: int) -> list[Body]:
    """So many events of turns with calls."""
    made: list[Body] = []
    while len(made) < count:
        turn = f"t{len(made)}"
        made += [User(f"message {len(made)}: go on with the next part"), TurnStarted(turn, "agent", "rehearsal")]
        for n in range((SPOKEN - 4) // 3):
            call = f"{turn}c{n}"
            blocks = [{"type": "text", "text": "I look"}, {"type": "tool_use", "id": call, "name": "read", "input": {}}]
            made += [Assistant(blocks=blocks, model="rehearsal", end="tool-use", turn=turn),
                     ToolInvocation(call, "read", {"path": "a.py"}, "files.read-file", False, turn),
                     ToolResult(call, "ok", "x" * 800, turn=turn)]
        made += [Assistant(blocks=[{"type": "text", "text": "done"}], model="rehearsal", turn=turn), TurnFinished(turn, "stop")]
    return made[:count]


def write(world: World, events: list[Body], compacted: bool) -> str:
    """A conversation of these events in the world's store; its id."""
    paths = root_paths(world.repository)
    paths.data.mkdir(parents=True, exist_ok=True)
    store = Store.open(paths.data)
    session = new_session_id()
    store.create(session, SessionStarted(root=str(world.repository), origin="headless", mode="agent", model="rehearsal",
                                         branch=f"conv/{session[:8]}", trunk="main"))
    for at in range(0, len(events), 500):
        store.append_many(session, [(body, "") for body in events[at : at + 500]]).result()
    if compacted:
        said = {n + 2 for n, body in enumerate(events) if isinstance(body, User)}
        spans, first = [], 0
        for seq in range(KEPT, len(events) - KEPT):
            if seq in said:
                spans += [(first, seq - 1)] if first else []
                first = 0
            elif not first and isinstance(events[seq - 2], Assistant):
                first = seq
        store.append(session, Compaction(spans, "Progress: much was read.", replaced=len(events))).result()
    store.close()
    return session


async def first_word(opened: Opened, session: str) -> float:
    """Seconds from a message to the first word of the reply; the turn is then waited for."""
    await opened.client.subscribe(session)
    opened.heard.clear()
    began = time.perf_counter()
    await opened.client.submit(session, "find nothing.txt")
    await opened.until(lambda heard: any(isinstance(tell, EventStored) and tell.event.kind == "assistant" for tell in heard))
    took = time.perf_counter() - began
    await opened.client.wait_idle(session)
    return took


async def turn_starts(base: Path) -> None:
    """From a message to the first reply, in a conversation of 10,000 events that was compacted and in one of 100."""
    world = World(base)
    world.make_repository({"README.md": "# Bench\n"})
    os.environ.update({name: world.environ[name] for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR")})
    sessions = {LONG: write(world, bodies(LONG), True), SHORT: write(world, bodies(SHORT), False)}
    times: dict[int, list[float]] = {LONG: [], SHORT: []}
    async with gateway(base) as opened:
        for session in sessions.values():
            await first_word(opened, session)  # its worktree and worker
        for _ in range(TURNS):
            for count, session in sessions.items():
                times[count].append(await first_word(opened, session))
    long, short = (statistics.median(times[count]) for count in (LONG, SHORT))
    emit("turn_start_10k_vs_100_events", long / short, "ratio", TURNS,
         against=f"<= 2; 100 events in the same run {short * 1000:.0f} ms")
    emit("turn_start_10k_ms", long * 1000, "ms", TURNS, max(times[LONG]) * 1000)


async def resume(base: Path) -> None:
    """A gateway is opened for a conversation of 100 MB: its line, its last page, and a turn that begins."""
    world = World(base)
    world.make_repository({"README.md": "# Bench\n"})
    os.environ.update({name: world.environ[name] for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR")})
    size = 0
    events: list[Body] = []
    for body in bodies(1_000_000 // 25):
        if isinstance(body, ToolResult):
            body = ToolResult(body.call, "ok", "".join(f"{n:08d} " for n in range(900)), turn=body.turn)
            size += len(body.content)
        events.append(body)
        if size >= MEGABYTES << 20:
            break
    sessions = {"long": write(world, events, True), "short": write(world, bodies(SHORT), False)}
    times: dict[str, list[float]] = {"long": [], "short": []}
    for _ in range(3):
        for name, session in sessions.items():
            times[name].append(await opened_and_begun(base, session))
    emit("resume_100mb_s", statistics.median(times["long"]), "s", 3, max(times["long"]),
         f"<= 1; {len(events):,} events; 100 events in the same run {statistics.median(times['short']):.2f} s")


async def opened_and_begun(base: Path, session: str) -> float:
    """Seconds from nothing to a gateway that has read a conversation's last page and begun a turn in it. The screen paints that
    page by itself; the renderer's process comes later."""
    began = time.perf_counter()
    async with gateway(base) as opened:
        line = await opened.client.conversation(session)
        await opened.client.read(session, line.last_seq - 60, 60)
        await opened.client.compact(session, "")
        while not await begun(opened, session, line.last_seq):
            await asyncio.sleep(0.005)
        took = time.perf_counter() - began
        await opened.client.stop(session)
        await opened.client.wait_idle(session)
    return took


async def begun(opened: Opened, session: str, after: int) -> bool:
    """Whether a turn has begun since."""
    return any(event.kind == "turn-started" for event in (await opened.client.read(session, after, 50)).events)


if __name__ == "__main__":
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    main()
