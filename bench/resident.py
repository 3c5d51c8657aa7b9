"""What an open screen costs while nobody does anything, and what it keeps in memory.

`tui_idle_cpu_pct`, `tui_idle_bytes`: the whole process tree and the terminal over half a minute of nothing, some time after a
turn. `tui_tree_pss_mib`: the tree with one conversation, 60 s after its turn (idle helpers have gone);
`next_conversation_pss_mib`: what a second conversation adds to that. `tui_growth_1000_turns_mib`: memory of the screen's own
process over 1,000 scripted turns.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from pathlib import Path

from bench.report import emit
from bench.seeded import Pty, cpu_s, pss_mib, thetis, tree
from tests.support.thetis import World

FIGURES = ["tui_idle_cpu_pct", "tui_idle_bytes", "tui_tree_pss_mib", "next_conversation_pss_mib", "tui_growth_1000_turns_mib"]
SETTLE, IDLE = 60.0, 30.0
TURNS, EARLY = 1000, 50


def settled(base: Path) -> None:
    """The tree after one turn, idle; then after a second conversation's."""
    world = World(base)
    world.make_repository({"README.md": "# Bench\n", "src/parser.py": "x = 1\n"})
    world.environ["THETIS_REHEARSAL_DELAY_MS"] = "5"
    screen = Pty([thetis()], world.repository, world.environ)
    try:
        screen.until(screen.shows("rehearsal"), "ready")
        screen.type(b"what is in this repository?\r")
        screen.until(screen.shows("Done"), "the turn's end")
        screen.rest(SETTLE)
        one = tree(screen.pid)
        first = pss_mib(one)
        emit("tui_tree_pss_mib", first, "MiB", 1, against=f"<= 250; {len(one)} processes, {SETTLE:.0f} s after a turn")
        cpu, written = cpu_s(tree(screen.pid)), screen.bytes
        started = time.perf_counter()
        screen.rest(IDLE)
        passed = time.perf_counter() - started
        emit("tui_idle_cpu_pct", 100 * (cpu_s(tree(screen.pid)) - cpu) / passed, "%", 1, against=f"<= 1 over {passed:.0f} s")
        emit("tui_idle_bytes", screen.bytes - written, "bytes", 1, against=f"0 over {passed:.0f} s")
        screen.type(b"\x0e")
        screen.until(screen.shows("Try"), "a new conversation")
        screen.type(b"what is in this repository?\r")
        screen.until(screen.shows("Done"), "the turn's end")
        screen.rest(SETTLE)
        two = tree(screen.pid)
        emit("next_conversation_pss_mib", pss_mib(two) - first, "MiB", 1,
             against=f"<= 60; {len(two)} processes, {SETTLE:.0f} s after its turn")
    finally:
        screen.close()


def own_mib() -> float:
    """Memory that is this process's alone."""
    gc.collect()
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_Dirty:")) / 1024


async def growth() -> None:
    """The screen on a scripted gateway, without a terminal: what the gateway itself keeps is counted beside it."""
    from tests.support.fake_gateway import FakeGateway, FakeTurn
    from tests.support.fake_screen import screen

    gateway = FakeGateway()

    async def script(turn: FakeTurn) -> None:
        await turn.say("Looking at the parser. " * 6, size=40)
        turn.reply(calls=("run",))
        call = turn.call("run", True, command="make test")
        for n in range(20):
            turn.delta("output", f"test {n} passed\n", call)
        turn.result(call, "20 passed\n" * 20, exit=0)
        await turn.say("All **tests** pass now; `parse` holds.\n\n- one\n- two\n", size=20)
        turn.reply()

    gateway.script = script
    async with screen(gateway, size=(120, 40)) as s:
        small, kept = 0.0, 0
        for n in range(TURNS):
            await s.send(f"turn {n}")
            await s.until(lambda n=n: f"turn {n}" in gateway_said(gateway) and not gateway.turns, f"turn {n}")
            await s.until(lambda: s.view.window.at_end, "shown")
            s.messages.clear()
            if n == EARLY:
                small, kept = own_mib(), log_bytes(gateway)
        gateway.asks.clear()
        s.messages.clear()
        grown, log = own_mib() - small, (log_bytes(gateway) - kept) / (1 << 20)
        emit("tui_growth_1000_turns_mib", grown, "MiB", 1, against=f"<= 20; with the fake gateway's log of {log:.1f} MiB, "
             f"from turn {EARLY} on")


def gateway_said(gateway: object) -> str:
    logs = gateway.logs  # type: ignore[attr-defined]
    return "".join(event.raw.decode() for log in logs.values() for event in log[-12:] if event.kind == "user")


def log_bytes(gateway: object) -> int:
    logs = gateway.logs  # type: ignore[attr-defined]
    return sum(len(event.raw) for log in logs.values() for event in log)


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    with tempfile.TemporaryDirectory(prefix="br-") as base:
        settled(Path(base))
    asyncio.run(growth())


if __name__ == "__main__":
    main()
