"""Round trips of 1 KB between two real processes, and what a child costs to start. `python -m bench.ipc`"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from thetis_kernel.supervise.spawn import Plan, RoleSource, spawn

from bench.report import emit
from bench.roles.echo import FromChild, Inline, Threaded

ROLES = RoleSource("bench.roles", Path(__file__).parents[1])
TEXT = "x" * 1000
N = 3000

_ECHO = """
import socket, sys
sock = socket.socket(fileno=int(sys.argv[1]))
while data := sock.recv(65536):
    sock.sendall(data)
"""


def raw_echo() -> list[float]:
    """The floor: the same bytes over a socketpair between two processes, blocking, nothing decoded."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", _ECHO, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    payload, times = TEXT.encode(), []
    for _ in range(N):
        started = time.perf_counter()
        ours.sendall(payload)
        ours.recv(65536)
        times.append(time.perf_counter() - started)
    ours.close()
    process.wait()
    return times


async def round_trips() -> None:
    async def answer(ask: Inline) -> str:
        return ask.text

    child = await spawn(Plan("echo", asks={Inline: answer}), source=ROLES)
    await child.peer.call(FromChild(200, TEXT))
    report("ipc_roundtrip_us", await child.peer.call(FromChild(N, TEXT)), 1e6, "<= 150; child asks gateway")
    for name, kind in (("ipc_roundtrip_to_child_us", Inline), ("ipc_roundtrip_to_child_thread_us", Threaded)):
        times = []
        for _ in range(N):
            started = time.perf_counter()
            await child.peer.call(kind(TEXT))
            times.append(time.perf_counter() - started)
        report(name, times, 1e6, "ipc_roundtrip_us")
    await child.terminate()


async def starts() -> None:
    times = []
    for _ in range(30):
        started = time.perf_counter()
        child = await spawn(Plan("empty"), source=ROLES)
        times.append(time.perf_counter() - started)
        await child.terminate()
    report("child_spawn_ms", times, 1e3, "bare_python_ms")
    report("child_spawn_loop_stall_ms", await stalls(), 1e3, "the longest step of the loop during a start, 512 MiB resident")
    times = []
    for _ in range(30):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "import msgspec"], check=True, env={"PATH": os.environ["PATH"]})
        times.append(time.perf_counter() - started)
    report("bare_python_ms", times, 1e3, "python -I -c 'import msgspec', start to end")


async def stalls() -> list[float]:
    """The longest time the gateway's loop stood still in each of some starts, with a large process to fork from."""
    ballast = b"b" * (512 * 1024 * 1024)
    longest = []
    for _ in range(15):
        starting = asyncio.create_task(spawn(Plan("empty"), source=ROLES))
        worst, last = 0.0, time.perf_counter()
        while not starting.done():
            await asyncio.sleep(0)
            now = time.perf_counter()
            worst, last = max(worst, now - last), now
        longest.append(worst)
        await (await starting).terminate()
    del ballast
    return longest


def report(name: str, times: list[float], scale: float, against: str) -> None:
    ordered = sorted(times)
    p95 = ordered[int(len(ordered) * 0.95)] * scale
    emit(name, statistics.median(times) * scale, name.rpartition("_")[2], len(times), p95, against)


def main() -> None:
    report("ipc_raw_echo_us", raw_echo(), 1e6, "socketpair between two processes, nothing decoded")
    asyncio.run(round_trips())
    asyncio.run(starts())


if __name__ == "__main__":
    main()
