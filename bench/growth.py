"""What grows with a conversation, and a first turn on a provider's SDK.

A thousand turns through a real gateway with its real children: what its worker keeps of them, and the processor time all
processes of the kernel spend on a turn at the beginning and at the end.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import emit
from tests.support.gateways import Opened, gateway
from tests.support.messages_server import MessagesServer
from tests.support.thetis import World

FIGURES = [
    "sdk_import_s",
    "sdk_used_import_s",
    "cold_turn_sdk_s",
    "worker_growth_1000_turns_mib",
    "turn_10_kernel_ms",
    "turn_1000_kernel_ms",
    "turn_1000_gateway_ms",
]
TURNS = 1000
EARLY = 10
AROUND = 10
"""Turns a figure is the mean of: processor time is counted in hundredths of a second."""
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
IMPORT = "import anthropic"
USED = "from thetis_kernel.models.anthropic.loading import import_sdk; import_sdk()"


def seconds(*command: str) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def cold_turn() -> None:
    """No kernel runs; a server in this process answers at once. The SDK's import is measured between the turns."""
    with tempfile.TemporaryDirectory() as base, MessagesServer() as server:
        world = World(Path(base))
        world.make_repository({f"src/f{n}.py": f"x = {n}\n" for n in range(40)} | {"README.md": "# Bench\n"})
        config = world.base / "config.toml"
        config.write_text(f'[[providers]]\nname = "anthropic"\nbase_url = "{server.url}"\nkey = "env:BENCH_KEY"\n')
        world.environ.update(THETIS_CONFIG=str(config), BENCH_KEY="sk-bench")
        world.run(
            "run", "hello"
        )  # the shipped guests are judged, caches are warm; each further turn is still a cold process
        turns, imports, used, bare = [], [], [], []
        for _ in range(10):
            started = time.perf_counter()
            world.run("run", "hello")
            turns.append(time.perf_counter() - started)
            imports.append(seconds(sys.executable, "-I", "-c", IMPORT))
            used.append(seconds(sys.executable, "-I", "-c", USED))
            bare.append(seconds(sys.executable, "-I", "-c", "pass"))
        sdk = statistics.median(imports) - statistics.median(bare)
        emit("sdk_import_s", sdk, "s", len(imports), against="a process that imports it, less one that does nothing")
        ours = statistics.median(used) - statistics.median(bare)
        emit("sdk_used_import_s", ours, "s", len(used), against="the same without what is not used of it, as the model host does")
        ordered = sorted(turns)
        emit(
            "cold_turn_sdk_s",
            statistics.median(ordered),
            "s",
            len(ordered),
            p95=ordered[-1],
            against=f"<= {sdk + 0.6:.2f}: the SDK's import in the same run, {sdk:.2f} s, and 0.6 s",
        )


def processor_ms(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_MS


def own_mib(pid: int) -> float:
    """Memory that is a process's alone. Not its PSS, whose share of common pages moves with what else is running."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Long:
    """One conversation of many turns."""

    def __init__(self, g: Opened, session: str) -> None:
        self.g = g
        self.session = session
        self.turns = 0

    async def until(self, turns: int) -> None:
        """Have so many."""
        while self.turns < turns:
            self.turns += 1
            await self.g.client.submit(self.session, f"turn {self.turns}: please help me along")
            await self.g.client.wait_idle(self.session)
            self.g.heard.clear()

    def spent(self) -> dict[str, float]:
        """Milliseconds of processor time by process."""
        children = {
            name: self.g.gateway.fleet.supervisor.get(name) for name in ("git", "model", f"worker:{self.session}")
        }
        found = {
            name.partition(":")[0]: processor_ms(child.pid) for name, child in children.items() if child is not None
        }
        return {"gateway": time.process_time() * 1000, **found}

    async def cost(self, at: int) -> dict[str, float]:
        """Of one turn, by process: the mean of those around number `at`."""
        await self.until(at - AROUND // 2)
        before = self.spent()
        await self.until(at + AROUND // 2)
        after = self.spent()
        return {name: (after[name] - before[name]) / AROUND for name in after}

    async def history_ms(self) -> float:
        """What the history alone costs: the real agent reads it through the gateway and makes its request, which is not
        sent. Examining a conversation does that twice, to compare, and verifies its chain before, which does not count."""
        from thetis_kernel.gateway.examining import examine

        started = time.process_time()
        for _ in range(AROUND):
            self.g.gateway.log.store.verify(self.session)
        verifying = (time.process_time() - started) * 1000
        before = self.spent()
        for _ in range(AROUND):
            await examine(self.g.gateway, self.session)
        return (sum(self.spent().values()) - sum(before.values()) - verifying) / AROUND / 2


async def thousand_turns() -> None:
    with tempfile.TemporaryDirectory() as base:
        async with gateway(Path(base)) as g:
            made = await g.client.create(origin="headless")
            long = Long(g, made.id)
            early = await long.cost(EARLY)
            small, little = own_mib(g.worker_pid(made.id)), await long.history_ms()
            late = await long.cost(TURNS)
            grown, much = own_mib(g.worker_pid(made.id)), await long.history_ms()
            emit(
                "worker_growth_1000_turns_mib",
                grown - small,
                "MiB",
                1,
                against=f"<= 20; after {EARLY} turns {small:.1f}",
            )
            first, last = sum(early.values()), sum(late.values())
            emit("turn_10_kernel_ms", first, "ms", AROUND, against=told(early))
            emit(
                "turn_1000_kernel_ms",
                last,
                "ms",
                AROUND,
                against=(
                    f"<= {first + much - little:.0f}: turn {EARLY} in the same run and what it costs to read the history now "
                    f"and did not then, {much:.0f} - {little:.0f} ms; {told(late)}"
                ),
            )
            emit(
                "turn_1000_gateway_ms",
                late["gateway"],
                "ms",
                AROUND,
                against=f"turn {EARLY} in the same run {early['gateway']:.1f}",
            )


def told(costs: dict[str, float]) -> str:
    return "processor time of " + ", ".join(f"{name} {value:.0f}" for name, value in costs.items())


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    cold_turn()
    asyncio.run(thousand_turns())


if __name__ == "__main__":
    main()
