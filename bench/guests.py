"""Guest calls in fresh stores, and what a runtime costs to load. `python -m bench.guests`"""

from __future__ import annotations

import gc
import json
import os
import statistics
import threading
import time
from collections.abc import Callable

import wasmtime
from thetis_kernel.wasm import native
from thetis_kernel.wasm.abort import Abort
from thetis_kernel.wasm.call import GuestCall, run_in_thread
from thetis_kernel.wasm.compiler import compile_bundle
from thetis_kernel.wasm.engine import Runtime, engine
from thetis_kernel.wasm.host import HostSide, Imports
from thetis_kernel.wasm.limits import AGENT_LIMITS, PROBE_LIMITS
from thetis_kernel.wasm.runtimes import ensure_runtimes, open_runtime, seal
from thetis_kernel.wasm.spares import Spares

from bench.report import emit

FIGURES = [
    "guest_call_fresh_ms", "guest_call_unprepared_ms", "guest_call_kernel_ms", "guest_call_agent_ms", "guest_import_us",
    "guest_import_2mb_ms",
    "guest_abort_ms",
    "guest_calls_8_threads_per_s", "guest_compile_ms", "guest_compile_4300_lines_ms", "guest_call_4300_lines_ms",
    "guest_rss_growth_mib", "guest_blocked_store_mib", "runtime_open_ms", "runtime_seal_ms", "runtime_private_mib",
]  # fmt: skip

TOOL = """
import json
from thetis_guest import ToolManifest, sandbox, sys as host

def describe():
    return ToolManifest("demo", "A demonstration.", {"type": "object"})

def invoke(session_id, args, config):
    if args.get("wait"):
        host.log("waiting")
        while True:
            pass
    for _ in range(args.get("imports", 1)):
        answer = sandbox.exec("ls")
    return json.dumps([session_id, answer])
"""
AGENT = """
from thetis_guest import llm, session
def handle_turn(turn):
    return {"events": len(session.read(0)["events"]), "echo": len(llm.complete({"system": turn.get("text", "")}))}
"""
PAGE = json.dumps({"events": [{"seq": n, "kind": "user", "body": {"text": "x" * 200}} for n in range(100)], "next": 100})


def large_source(lines: int) -> str:
    """A module of about `lines` lines, with an agent's entry function."""
    unit = "class C{n}:\n    '''doc'''\n    kind = 'k{n}'\n    def f(self, a, b=None):\n        return [a, b, {n}, self.kind]\n\n"
    return "".join(unit.format(n=n) for n in range(lines // 6)) + "def handle_turn(turn):\n    return {'ok': C1().kind}\n"


def timed(work: Callable[[], object], count: int, warm: int = 5) -> list[float]:
    """Seconds of `count` runs, after `warm` that do not count."""
    times: list[float] = []
    for number in range(count + warm):
        started = time.perf_counter()
        work()
        if number >= warm:
            times.append(time.perf_counter() - started)
    return times


def report(name: str, times: list[float], factor: float, unit: str, against: str | None = None) -> None:
    ranked = sorted(times)
    emit(name, statistics.median(ranked) * factor, unit, len(ranked), ranked[int(len(ranked) * 0.95)] * factor, against)


def memory_mib(field: str) -> float:
    """A line of this process's smaps_rollup, in MiB."""
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def loading() -> dict[str, Runtime]:
    """What it costs to seal a runtime (gateway) and to open one (child); the runtimes opened."""
    worlds = ("tool", "agent", "compiler")
    ensure_runtimes(worlds, progress=lambda _: None)
    fds = {world: seal(world) for world in worlds}

    def seal_once() -> None:
        os.close(seal("tool"))

    report("runtime_seal_ms", timed(seal_once, 10), 1e3, "ms", "verify and copy; once a gateway")
    open_runtime("compiler", fds["compiler"])  # the engine's own start-up
    before = memory_mib("Private")
    runtime = open_runtime("tool", fds["tool"])
    emit("runtime_private_mib", memory_mib("Private") - before, "MiB", 1)
    report("runtime_open_ms", timed(lambda: open_runtime("tool", fds["tool"]), 30), 1e3, "ms")
    return {"tool": runtime, "agent": open_runtime("agent", fds["agent"]), "compiler": open_runtime("compiler", fds["compiler"])}


def calls(runtimes: dict[str, Runtime]) -> None:
    tool, agent = runtimes["tool"], runtimes["agent"]
    code = compile_bundle(runtimes["compiler"], {"main": TOOL})
    imports: Imports = {"sandbox.exec": lambda command, options: '{"exit": 0, "output": "a\\nb"}'}

    spares = Spares(lambda: tool, PROBE_LIMITS)

    def unprepared(**args: object) -> str:
        return GuestCall(tool, code, imports, PROBE_LIMITS).run("invoke", "s", json.dumps(args), "{}")

    def invoke(**args: object) -> str:
        return GuestCall(tool, code, imports, PROBE_LIMITS, spares=spares).run("invoke", "s", json.dumps(args), "{}")

    ours: list[float] = []
    alone: list[float] = []
    bare: list[float] = []
    with spares.hold():
        for _ in range(300):  # in turn, because the machine's speed moves; a turn, too, does other things between two calls
            bare += timed(lambda: bare_call(tool, code, imports), 1, warm=0)
            alone += timed(unprepared, 1, warm=0)
            ours += timed(invoke, 1, warm=0)
    floor = statistics.median(bare) * 1e3
    report("guest_call_fresh_ms", ours, 1e3, "ms", f"<= 5; in a stage made ahead (ADR 45); else the engine alone {floor:.2f}")
    report("guest_call_unprepared_ms", alone, 1e3, "ms", "the first call of a turn, and those beside another")
    emit("guest_call_kernel_ms", statistics.median(alone) * 1e3 - floor, "ms", 300, against="of an unprepared call, what is ours")
    many = timed(lambda: unprepared(imports=501), 20)
    one = statistics.median(timed(unprepared, 50))
    report("guest_import_us", [(took - one) / 500 for took in many], 1e6, "us", "one import call through the SDK")

    agent_code = compile_bundle(runtimes["compiler"], {"main": AGENT})
    agent_imports: Imports = {"session.read": lambda after, size: PAGE, "llm.complete": lambda request: request}

    def turn(text: str = "") -> str:
        return GuestCall(agent, agent_code, agent_imports, AGENT_LIMITS).run("handle-turn", json.dumps({"text": text}))

    report("guest_call_agent_ms", timed(turn, 100), 1e3, "ms", "a page of 100 events")
    two_megabytes = "some words of a transcript\n" * 90_000
    report("guest_import_2mb_ms", timed(lambda: turn(two_megabytes), 10), 1e3, "ms", "2.4 MB in, out and back as JSON")
    report("guest_abort_ms", [abort_once(tool, code) for _ in range(30)], 1e3, "ms", "<= 50; of a loop, from another thread")
    threads(unprepared)


def bare_call(runtime: Runtime, code: str, imports: Imports) -> None:
    """What the engine does for the same call: store, instance, the guest's run, drop; next to no kernel around it."""
    native.current.call = HostSide(code, imports, PROBE_LIMITS, Abort(), None)
    try:
        with wasmtime.Store(engine()) as store:
            store.set_epoch_deadline(1 << 20)
            store.set_wasi(wasmtime.WasiConfig())
            instance = runtime.linker.instantiate(store, runtime.component)
            function = instance.get_func(store, runtime.indices["invoke"])
            if function is None:
                raise LookupError("the runtime has no export invoke")
            native.call_export(store, function, ["s", "{}", "{}"])
    finally:
        native.current.call = None


def abort_once(tool: Runtime, code: str) -> float:
    entered, abort = threading.Event(), Abort()
    imports: Imports = {"sys.log": lambda level, message: entered.set()}
    future = run_in_thread(GuestCall(tool, code, imports, PROBE_LIMITS, abort), "invoke", "s", '{"wait": 1}', "{}")
    entered.wait()
    started = time.perf_counter()
    abort.fire("enough")
    future.exception()
    return time.perf_counter() - started


def threads(invoke: Callable[[], str]) -> None:
    def body() -> None:
        for _ in range(40):
            invoke()

    workers = [threading.Thread(target=body) for _ in range(8)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    emit("guest_calls_8_threads_per_s", 8 * 40 / (time.perf_counter() - started), "1/s", 320)
    gc.collect()
    before = memory_mib("Rss")
    for _ in range(1000):
        invoke()
    gc.collect()
    emit("guest_rss_growth_mib", memory_mib("Rss") - before, "MiB", 1000, against="<= 5 after 1,000 calls")


def compiling(runtimes: dict[str, Runtime]) -> None:
    compiler, large = runtimes["compiler"], {"main": large_source(4300)}
    report("guest_compile_ms", timed(lambda: compile_bundle(compiler, {"main": TOOL}), 50), 1e3, "ms")
    report("guest_compile_4300_lines_ms", timed(lambda: compile_bundle(compiler, large), 10), 1e3, "ms")
    code = compile_bundle(compiler, large)

    def load() -> str:
        return GuestCall(runtimes["agent"], code, {}, AGENT_LIMITS).run("handle-turn", "{}")

    report("guest_call_4300_lines_ms", timed(load, 50), 1e3, "ms")


def blocked(runtimes: dict[str, Runtime]) -> None:
    """Memory of a guest that waits in an import, as every live turn does most of the time."""
    code = compile_bundle(runtimes["compiler"], {"main": AGENT})
    release, waiting = threading.Event(), threading.Semaphore(0)

    def block(request: str) -> str:
        waiting.release()
        release.wait()
        return "{}"

    imports: Imports = {"session.read": lambda after, size: PAGE, "llm.complete": block}
    before = memory_mib("Private")
    turns = [run_in_thread(GuestCall(runtimes["agent"], code, imports, AGENT_LIMITS), "handle-turn", "{}") for _ in range(10)]
    for _ in turns:
        waiting.acquire()
    emit("guest_blocked_store_mib", (memory_mib("Private") - before) / 10, "MiB", 10)
    release.set()
    for turn in turns:
        turn.result()


if __name__ == "__main__":
    opened = loading()
    calls(opened)
    compiling(opened)
    blocked(opened)
