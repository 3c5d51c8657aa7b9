"""The real bench with small budgets: what a candidate may use, and that it ends in time."""

from __future__ import annotations

import msgspec
import pytest
from thetis_kernel.errors import GuestError, RuntimeBuildError
from thetis_kernel.forge import wasmbench
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.fakes.host import FakeHost
from thetis_kernel.forge.pipeline import judge
from thetis_kernel.forge.steps import STEPS
from thetis_kernel.forge.wasmbench import WasmBench
from thetis_kernel.wasm import limits

from tests.e2e.gates import compiled, sealed
from tests.unit.forge.guests import TOOL_MAIN, tool

pytestmark = pytest.mark.runtimes


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(limits, "PROBE_LIMITS", msgspec.structs.replace(limits.PROBE_LIMITS, cpu_ms=300))
    return WasmBench({world: sealed(world) for world in ("tool", "compiler")})


def call(bench, body, before=""):
    main = f"{before}\ndef describe():\n    {body}\ndef invoke(a, b, c): ...\n"
    candidate = Candidate(tool(main), bundle=compiled(main))
    return bench.call(candidate, FakeHost(), "describe")


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "import time; time.sleep(1000)",
        "from thetis_guest import sys as host\n    while True: host.sleep(10)",
        "from thetis_guest import sys as host\n    while True: host.kv_get('x')",
        "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    ],
)
def test_what_does_not_end_is_ended(bench, body):
    with pytest.raises(GuestError) as caught:
        call(bench, body)
    assert caught.value.kind == "timeout"


def test_calls_share_one_budget(bench, monkeypatch):
    monkeypatch.setattr(wasmbench, "TOTAL_CPU_MS", 0)
    with pytest.raises(GuestError) as caught:
        call(bench, "while True: pass")
    assert caught.value.kind == "timeout"


def test_a_call_that_neither_computes_nor_returns_is_given_up(bench, monkeypatch):
    """A host import that blocks: none of the stand-ins does, and the bench does not rely on it."""
    import threading

    never = threading.Event()
    host = FakeHost()
    host.imports["sys.kv-get"] = lambda key: "null" if never.wait(30) else "1"
    main = "from thetis_guest import sys as host\ndef describe():\n    host.kv_get('x')\n"
    monkeypatch.setattr(wasmbench, "WALL_S", 0.2)
    monkeypatch.setattr(wasmbench, "GRACE_S", 0.2)
    try:
        with pytest.raises(GuestError) as caught:
            bench.call(Candidate(tool(main), bundle=compiled(main)), host, "describe")
    finally:
        never.set()
    assert caught.value.kind == "timeout"


def test_compiling_has_a_budget_of_its_own(bench, monkeypatch):
    monkeypatch.setattr(wasmbench, "COMPILE_CPU_MS", 1)
    verdict = judge(tool(TOOL_MAIN, big="\n".join(f"x{n} = {n}" for n in range(20_000))), "k", bench, STEPS)
    assert not verdict.ok and verdict.steps[-1].step == "compile"
    assert verdict.steps[-1].diagnostics[0].message == "compile did not end in time"


def test_a_missing_runtime_is_said():
    with pytest.raises(RuntimeBuildError, match="was not handed the compiler runtime"):
        WasmBench({}).compile({"main": ""})
