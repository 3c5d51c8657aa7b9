"""A turn through a daemon: `thetis run` from its start to its end, where its time goes, and what a client costs by itself.

The model is the rehearsal model without delays. Wall-clock on a busy machine says little, so processor time is told beside it:
the client's, the gateway's and its hosts', the worker's. `python -m bench.daemon`
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import emit
from tests.support.daemons import daemon
from tests.support.gateways import wait_for
from tests.support.thetis import World

FIGURES = ["warm_turn_s", "warm_turn_cpu_s", "warm_turn_kernel_ms", "warm_turn_client_cpu_ms", "warm_turn_again_s"]
TURNS = 9


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            found += tree(int(child))
    return found


def spent(pid: int) -> float:
    """Seconds of processor time, those of threads that have ended too, in the system's ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def role(pid: int) -> str:
    """worker, git, model, ...; gateway for the daemon itself."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    child = b"thetis_kernel.supervise.child"
    return words[words.index(child) + 1].decode() if child in words else "gateway"


def turns(world: World, pid: int, *arguments: str) -> tuple[list[float], list[float], list[float], list[float]]:
    """(wall, client's, kernel's, workers' processor time), seconds each, of TURNS turns."""
    walls: list[float] = []
    clients: list[float] = []
    kernels: list[float] = []
    workers: list[float] = []
    for _ in range(TURNS):
        wait_for(lambda: "worker" in [role(each) for each in tree(pid)], 30)
        time.sleep(2.5)  # a spare is started a second after the last one was taken, and is no part of the turn
        before: dict[int, float] = {each: spent(each) for each in tree(pid)}
        client = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        world.run("run", "list", *arguments)
        walls.append(time.perf_counter() - started)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        clients.append(now.ru_utime + now.ru_stime - client.ru_utime - client.ru_stime)
        sums: dict[str, float] = {"kernel": 0.0, "worker": 0.0}
        for each in before:
            try:
                sums["worker" if role(each) == "worker" else "kernel"] += spent(each) - before[each]
            except OSError:
                continue
        kernels.append(sums["kernel"])
        workers.append(sums["worker"])
    return walls, clients, kernels, workers


def told(name: str, values: list[float], unit: str, against: str, scale: float = 1.0) -> None:
    ordered = sorted(value * scale for value in values)
    emit(name, statistics.median(ordered), unit, len(ordered), p95=ordered[int(len(ordered) * 0.95)], against=against)


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    with tempfile.TemporaryDirectory(prefix="bench-daemon-") as base:
        world = World(Path(base))
        files: dict[str, str | bytes] = {f"src/f{n}.py": f"x = {n}\n" for n in range(40)}
        world.make_repository({**files, "README.md": "# Bench\n"})
        bare = [once() for _ in range(7)]
        with daemon(world) as pid:
            world.run("run", "list")
            walls, clients, kernels, workers = turns(world, pid)
            beside = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()}; python with asyncio {statistics.median(bare):.3f} s"
            told("warm_turn_s", walls, "s", f"<= 0.4; a new conversation; {beside}")
            told("warm_turn_cpu_s", [sum(each) for each in zip(clients, kernels, workers, strict=True)], "s",
                 "processor time of all processes together: what warm_turn_s is at least on an idle machine")
            emit("warm_turn_kernel_ms", mean_ms(kernels), "ms", TURNS,
                 against="<= 100; processor time of gateway, git and model host, the mean: it is counted in ticks of 10 ms")
            told("warm_turn_client_cpu_ms", clients, "ms", f"the `thetis run` process; the worker {mean_ms(workers):.0f}", 1000)
            session = json.loads(world.run("ls", "--json").stdout)[0]["id"]
            walls, clients, kernels, workers = turns(world, pid, "--conversation", session)
            told("warm_turn_again_s", walls, "s", f"the same conversation; kernel {mean_ms(kernels):.0f} ms, worker "
                 f"{mean_ms(workers):.0f} ms of processor time")


def once() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "import asyncio; asyncio.run(asyncio.sleep(0))"], check=True)
    return time.perf_counter() - started


def mean_ms(values: list[float]) -> float:
    return statistics.mean(values) * 1000


if __name__ == "__main__":
    main()
