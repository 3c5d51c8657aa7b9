"""A gateway in a process of its own with ten workers: idle, busy with a command, in a guest's loop, stopped.

Run as `python -m tests.support.gateway_holder BASE`; prints one line of JSON once all stand, then waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from thetis_kernel.protocol.events import ToolInvocation
from thetis_kernel.protocol.worker import GuestBundle, RunTurn
from thetis_kernel.wasm.compiler import compile_bundle
from thetis_kernel.wasm.runtimes import open_runtime, seal

from tests.support.gateways import Opened, gateway

LOOP = """
def describe(): return {"name": "loop", "version": "1"}
def health(): return "ok"
def list_tools(mode): return []
def handle_turn(turn):
    while True: pass
"""
COMMAND = "run setsid sleep 998 & sleep 997 & sleep 996"


async def main(base: Path) -> None:
    """Set the scene and wait."""
    bundle = await asyncio.to_thread(lambda: compile_bundle(open_runtime("compiler", seal("compiler")), {"main": LOOP}))
    async with gateway(base) as g:
        idle = [await _idle(g) for _ in range(6)]
        busy = [await g.start(COMMAND) for _ in range(4)]
        await g.until_event(ToolInvocation, 6 + 4, seconds=60)
        loops = []
        for session in idle[:2]:
            worker = await g.gateway.workers.ensure(session)
            place = await g.gateway.repository.ensure_worktree(session)
            ask = RunTurn(turn="loop", turn_json=b"{}", agent=GuestBundle(aspect="agent", key="loop", bundle=bundle), tools=[],
                          place=place)
            loops.append(asyncio.create_task(worker.peer.call(ask, timeout=None)))
        await g.eventually(lambda: _sleeping(996) == 4 and _sleeping(998) == 4, 60)
        stopped = [g.worker_pid(session) for session in idle[2:4]]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        print(json.dumps({"workers": [g.worker_pid(s) for s in (*idle, *busy)], "others": [
            c.pid for name in ("git", "model") if (c := g.gateway.fleet.supervisor.get(name)) is not None]}), flush=True)
        await asyncio.Event().wait()


async def _idle(g: Opened) -> str:
    session = await g.start("list")
    await g.client.wait_idle(session)
    return session


def _sleeping(seconds: int) -> int:
    """How many processes sleep exactly so long."""
    return len(sleepers({seconds}))


def sleepers(seconds: set[int]) -> list[int]:
    """The pids of `sleep N` processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:1] == [b"sleep"] and words[1:2] and words[1].isdigit() and int(words[1]) in seconds:
                found.append(int(entry.name))
    return found


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
