"""Many guests at once: every result belongs to its caller, and nothing piles up."""

from __future__ import annotations

import gc
import json
import random
import threading

import pytest
from thetis_kernel.errors import GuestError, Refused
from thetis_kernel.wasm.abort import Abort
from thetis_kernel.wasm.call import GuestCall, run_in_thread, stores_opened
from thetis_kernel.wasm.limits import Limits
from wasmtime.component import _enter

from tests.support.runtimes import bundle, runtime

LIMITS = Limits(memory_mib=128, cpu_ms=20_000)
GUEST = """
import json
from thetis_guest import HostError, sandbox

def describe(): return {}
def invoke(session_id, args, config):
    kind = args["kind"]
    if kind == "raise": raise ValueError(session_id)
    if kind == "exit": raise SystemExit(session_id)
    said = []
    for number in range(3):
        try:
            said.append(sandbox.exec(session_id + " " + kind + " " + str(number))["said"])
        except HostError as error:
            said.append("E:" + error.message)
    print(session_id)
    return json.dumps([session_id, config["c"], said])
"""
KINDS = ("work", "refuse", "break", "raise", "exit", "abort")


def one_call(session: str, kind: str) -> str:
    """Make one call and say what is wrong with its outcome, or ""."""
    abort, logged = Abort(), []

    def execute(command: str, options: str) -> str:
        if not command.startswith(session + " "):
            return json.dumps({"said": "confused"})
        if kind == "refuse":
            raise Refused(command, capability="exec")
        if kind == "break":
            raise KeyboardInterrupt(command)
        if kind == "abort" and command.endswith("1"):
            abort.fire(command)
        return json.dumps({"said": command})

    guest = GuestCall(
        runtime("tool"), bundle(GUEST), {"sandbox.exec": execute}, LIMITS, abort, lambda *line: logged.append(line)
    )
    args = json.dumps({"kind": kind})
    commands = [f"{session} {kind} {number}" for number in range(3)]
    said = {
        "work": commands,
        "refuse": [f"E:{command}" for command in commands],
        "break": ["E:The host failed in sandbox.exec."] * 3,
    }
    try:
        outcome = ("ok", guest.run("invoke", session, args, json.dumps({"c": session[::-1]})))
    except GuestError as error:
        outcome = (error.kind, error.message)
    wanted = {
        "raise": ("error", f"ValueError: {session}"),
        "exit": ("exit", f"SystemExit: {session}"),
        "abort": ("abort", f"invoke was stopped: {session} abort 1."),
    }.get(kind) or ("ok", json.dumps([session, session[::-1], said[kind]]))
    printed = [text for source, text in logged if source == "stdout"]
    if outcome != wanted:
        return f"{session} {kind}: {outcome} instead of {wanted}"
    if printed != ([session + "\n"] if wanted[0] == "ok" else []):
        return f"{session} {kind}: printed {printed}"
    return ""


def hammer(threads: int, calls: int) -> list[str]:
    """Problems of `threads` threads making `calls` calls each."""
    problems: list[str] = []

    def body(number: int) -> None:
        choose = random.Random(number)
        for turn in range(calls):
            try:
                problem = one_call(f"s{number}-{turn}", choose.choice(KINDS))
            except BaseException as error:
                problem = repr(error)
            if problem:
                problems.append(problem)

    bundle(GUEST)
    before = stores_opened()
    workers = [threading.Thread(target=body, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert stores_opened() == before + threads * calls
    assert _enter.LAST_EXCEPTION is None
    return problems


@pytest.mark.timeout(300)
def test_mixed_calls_on_eight_threads_are_not_confused():
    assert hammer(8, 60) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_four_thousand_mixed_calls_on_eight_threads_are_not_confused():
    assert hammer(8, 500) == []


def memory_kib() -> int:
    """Private and shared memory of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def growth_mib(calls: int) -> float:
    for _ in range(60):  # until allocators and thread caches have their working size
        assert one_call("warm", "work") == ""
        assert one_call("warm", "abort") == ""
    gc.collect()
    before = memory_kib()
    choose = random.Random(3)
    for number in range(calls):
        assert one_call(f"s{number}", choose.choice(KINDS)) == ""
    gc.collect()
    return (memory_kib() - before) / 1024


@pytest.mark.timeout(300)
def test_calls_leave_no_memory_behind():
    assert growth_mib(200) <= 5


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_thousand_calls_leave_no_memory_behind():
    assert growth_mib(1000) <= 5


def test_threads_and_descriptors_go_with_their_calls():
    import os

    def settled() -> tuple[int, int]:
        for thread in threading.enumerate():
            if thread.name.startswith("guest-"):  # a store is closed after its answer
                thread.join(30)
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    assert one_call("s", "work") == ""
    before = settled()
    for kind in KINDS * 3:
        assert one_call("s", kind) == ""
    assert settled() == before


def test_guest_threads_are_daemons():
    entered, release = threading.Event(), threading.Event()

    def block(*_: str) -> str:
        entered.set()
        release.wait(60)
        return '{"said": "x"}'

    guest = GuestCall(runtime("tool"), bundle(GUEST), {"sandbox.exec": block}, LIMITS)
    before = set(threading.enumerate())
    future = run_in_thread(guest, "invoke", "s", '{"kind": "work"}', '{"c": 1}')
    assert entered.wait(60)
    (thread,) = [one for one in set(threading.enumerate()) - before if one.name == "guest-invoke"]
    assert thread.daemon
    release.set()
    assert json.loads(future.result(60))[0] == "s"
