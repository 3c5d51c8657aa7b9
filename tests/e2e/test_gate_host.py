"""The gate host as a real process: good guests pass, and whatever a bad one does ends as a typed failure."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from thetis_kernel.errors import DeadlineExceeded, RemoteError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.key import artifact_key
from thetis_kernel.forge.service import Forge
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import GuestSource, JudgeGuest
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.e2e.gates import failing, fds, fds_later, judged
from tests.unit.forge.guests import GOOD, TOOL_MAIN, good, manifest, tool

pytestmark = pytest.mark.runtimes


STEPS_IN_ORDER = ["manifest", "layout", "ruff", "imports", "ty", "compile", "exports", "golden", "smoke", "tests"]
SIGNED = "def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> object:"


@pytest.mark.parametrize("aspect", GOOD)
async def test_good_guests_pass_and_describe_themselves(aspect):
    source = good(aspect)
    verdict = await judged(source)
    assert verdict.ok, verdict.steps[-1]
    assert verdict.key == artifact_key(source)
    assert [step.step for step in verdict.steps] == STEPS_IN_ORDER
    assert len(verdict.bundle) > 500
    assert json.loads(verdict.describes)["name"]


async def test_a_verdict_is_kept_and_the_bundle_runs(tmp_path):
    from thetis_kernel.wasm.call import GuestCall, run_in_thread
    from thetis_kernel.wasm.limits import TOOL_LIMITS

    from tests.support.runtimes import runtime

    forge = Forge(ArtifactStore(tmp_path), DisposableJudge(fds_later))
    await forge.verdict(good("tool/good"))
    kept = Forge(ArtifactStore(tmp_path), DisposableJudge(fds_later)).known(good("tool/good"))
    call = GuestCall(runtime("tool"), kept.bundle, {"sandbox.read-file": lambda path, options: "a\nb\n"}, TOOL_LIMITS)
    assert await asyncio.wrap_future(run_in_thread(call, "invoke", "s", '{"path": "x"}', "{}")) == "2 lines"


def describing(body, invoke='    return "ok"', before=""):
    head = "from thetis_guest import ToolManifest\n" + before
    return tool(head + f"def describe() -> ToolManifest:\n{body}\n{SIGNED}\n{invoke}\n")


GOOD_DESCRIBE = '    return ToolManifest(name="probe", description="d", input_schema={"type": "object"})'


def with_schema(schema):
    return GOOD_DESCRIBE.replace('{"type": "object"}', schema)


def text_manifest(text, **modules):
    return GuestSource("tool/probe", "tool", text, {"main": TOOL_MAIN, **modules})


HOSTILE = {
    "syntax error": (tool("x = 1\ndef f(:\n"), "ruff", "main.py", 2, "invalid syntax"),
    "syntax error in a package": (tool(TOOL_MAIN, **{"pkg.part": "\n\nx ="}), "ruff", "pkg/part.py", 3, "invalid syntax"),
    "no describe": (tool(SIGNED + " ..."), "exports", "main.py", 0, "no function describe()"),
    "unknown module": (tool("import socket\n" + TOOL_MAIN), "imports", "main.py", 1, "socket is not in the guests' runtime"),
    "hidden import": (tool("socket = __import__('socket')\n" + TOOL_MAIN), "smoke", "main.py", 1, "No module named 'socket'"),
    "raises at import": (tool(TOOL_MAIN + "\n1 / 0\n"), "smoke", "main.py", 7, "ZeroDivisionError"),
    "raises in describe": (describing("    raise ZeroDivisionError"), "smoke", "main.py", 3, "ZeroDivisionError"),
    "wrong type": (describing("    return 3  # type: ignore", before=""), "ty", "main.py", 3, "expected `ToolManifest`"),
    "recursion": (describing("    return describe()"), "smoke", "main.py", 3, "RecursionError"),
    "exit": (describing("    raise SystemExit(0)"), "smoke", "main.py", 3, "describe() failed (exit)"),
    "hard exit": (describing("    import os; os._exit(0)"), "smoke", "", 0, "describe() failed"),
    "abort": (describing("    import os; os.abort()"), "smoke", "", 0, "describe() failed"),
    "memory bomb": (describing("    raise ValueError('x' * (1 << 30))"), "smoke", "", 0, "more memory than it may"),
    "memory bomb in pieces": (
        describing("    held = []\n    while True: held.append(bytearray(1 << 20))"), "smoke", "", 0, "more memory than it may",
    ),
    "name clash": (describing(GOOD_DESCRIBE.replace("probe", "read")), "smoke", "main.py", 0, "guest.toml says 'probe'"),
    "library's name": (tool(TOOL_MAIN, json=""), "layout", "json.py", 0, "the standard library's"),
    "schema no object": (describing(GOOD_DESCRIBE.replace('"object"', '"string"')), "smoke", "main.py", 0, '"type": "object"'),
    "schema deep": (
        describing("    s = {'type': 'object'}\n    for _ in range(900): s = {'type': 'object', 'properties': {'x': s}}\n"
                   + with_schema("s")),
        "smoke", "main.py", 0, "nested",
    ),
    "schema wide": (
        describing(with_schema("{'type': 'object', 'properties': {str(n): {} for n in range(9999)}}")),
        "smoke", "main.py", 0, "larger than 64 KiB",
    ),
    "schema huge": (
        describing(with_schema("{'type': 'object', 'description': 'x' * 9_000_000}")),
        "smoke", "", 0, "describe() failed",
    ),
    "surrogate": (describing(GOOD_DESCRIBE.replace('"d"', '""')), "smoke", "main.py", 0, "no description"),
    "missing name in invoke": (describing(GOOD_DESCRIBE, "    return undefined"), "ruff", "main.py", 5, "`undefined`"),
    "name error in invoke": (describing(GOOD_DESCRIBE, "    raise NameError('x')"), "smoke", "main.py", 5, "NameError"),
    "trap in invoke": (describing(GOOD_DESCRIBE, "    import os; os.abort()"), "smoke", "", 0, "invoke() with no arg"),
    "wrong type of invoke": (describing(GOOD_DESCRIBE, "    return object()"), "smoke", "", 0, "(type)"),
    "print flood": (describing("    print('x' * 50_000_000)\n    raise ValueError"), "smoke", "", 0, "describe() failed"),
    "nested source": (tool("x = " + "(" * 5000 + ")" * 5000 + "\n" + TOOL_MAIN), "compile", "main.py", 1, ""),
    "huge literal": (tool("x = " + "9" * 100_000 + "\n" + TOOL_MAIN), "compile", "main.py", 1, ""),
    "folded constant": (tool("x = 'a' * 10**9 * 10**9\n" + TOOL_MAIN), "smoke", "", 0, ""),
    "deep else": (tool("if x: pass\n" + "elif x: pass\n" * 30_000 + TOOL_MAIN), "", "main.py", 0, ""),
    "manifest deep": (text_manifest("x = " + "[" * 8000 + "]" * 8000), "manifest", "guest.toml", 0, "nested too deeply"),
    "manifest huge": (text_manifest("#" * 6_000_000), "manifest", "guest.toml", 0, "larger than 16 KiB"),
    "manifest dotted": (text_manifest("a" + ".a" * 8000 + "=1"), "manifest", "guest.toml", 1, "dotted"),
    "another world": (text_manifest(manifest("probe", "agent")), "manifest", "guest.toml", 2, "world must be"),
    "two worlds": (GuestSource("tool/probe", "agent", manifest(), {"main": ""}), "manifest", "", 0, "is of the tool world"),
    "no aspect": (GuestSource("worker", "tool", manifest(), {"main": TOOL_MAIN}), "manifest", "", 0, "is not an aspect"),
    "paths for names": (text_manifest(manifest(), **{"../../x": ""}), "layout", "", 0, "cannot be a module name"),
    "no modules": (GuestSource("tool/probe", "tool", manifest(), {}), "layout", "main.py", 0, "there is no main.py"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_bad_guest_gets_a_diagnostic_with_its_place(name):
    source, step, path, line, words = HOSTILE[name]
    verdict = await judged(source)
    found = failing(verdict)
    assert not step or found[0] == step, found
    assert words in found[3], found
    if path:
        assert found[1] == path, found
    if line:
        assert found[2] == line, found


STUCK = {
    "endless loop": "while True: pass",
    "sleep": "import time; time.sleep(10**6)",
    "sleep in slices": "import time\n    while True: time.sleep(0.2)",
    "regular expression": "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    "big number": "x = 9 ** 9 ** 8; str(x)",
}


@pytest.mark.slow  # each takes the 5 s of processor time a call has; tests/unit/forge/test_wasmbench.py has short ones
@pytest.mark.parametrize("name", STUCK)
async def test_a_guest_that_does_not_end_is_ended(name):
    text = good("agent").modules["main"].replace('    return {"ok": True}', f"    {STUCK[name]}\n    return {{}}")
    source = GuestSource("agent", "agent", good("agent").manifest, {"main": text})
    assert text != good("agent").modules["main"]
    step, _, _, message = failing(await judged(source))
    assert step == "smoke"
    assert "health() did not end in time" in message or "more memory" in message


@pytest.mark.slow
async def test_loops_at_import_are_ended_too():
    assert "did not end in time" in failing(await judged(tool("while True: pass\n" + TOOL_MAIN)))[3]


# The process around it


async def gate(tmp_path, *worlds):
    return await spawn(Plan("gate", fds=fds("compiler", *worlds), settings={"THETIS_SCRATCH": str(tmp_path)}))


async def test_a_gate_judges_one_candidate_only(tmp_path):
    child = await gate(tmp_path, "tool")
    try:
        ask = JudgeGuest(good("tool/good"), "k")
        assert (await child.peer.call(ask)).ok
        with pytest.raises(RemoteError) as caught:
            await child.peer.call(ask)
        assert "process of its own" in caught.value.message
    finally:
        child.kill()
        await child.wait()


async def test_a_gate_without_the_runtime_says_so(tmp_path):
    child = await gate(tmp_path)
    try:
        verdict = await child.peer.call(JudgeGuest(good("tool/good"), "k"))
    finally:
        child.kill()
        await child.wait()
    assert "was not handed the tool runtime" in failing(verdict)[3]


async def test_a_gate_that_dies_is_a_failing_verdict_for_the_caller(tmp_path, monkeypatch):
    """Killed in the middle of a candidate that never ends, as the kernel's limits would."""
    import thetis_kernel.gateway.judging as module

    real = module.spawn

    async def doomed(*args, **kwargs):
        child = await real(*args, **kwargs)
        asyncio.get_running_loop().call_later(0.5, child._process.kill)
        return child

    monkeypatch.setattr(module, "spawn", doomed)
    forge = Forge(ArtifactStore(tmp_path), DisposableJudge(fds_later))
    verdict = await forge.verdict(tool("while True: pass\n" + TOOL_MAIN))
    assert failing(verdict)[0] == "gate"
    assert "SIGKILL" in failing(verdict)[3]
    assert forge.known(tool("while True: pass\n" + TOOL_MAIN)) == verdict
    monkeypatch.undo()
    assert (await forge.verdict(good("tool/good"))).ok


async def test_no_answer_in_time_is_a_failing_verdict_and_the_host_is_gone(tmp_path):
    judge = DisposableJudge(fds_later, seconds=0.3)
    with pytest.raises(DeadlineExceeded):
        await judge(JudgeGuest(tool("while True: pass\n" + TOOL_MAIN), "k"))
    verdict = await Forge(ArtifactStore(tmp_path), judge).verdict(tool("while True: pass\n" + TOOL_MAIN))
    assert failing(verdict)[0] == "gate"


async def test_the_gates_process_is_confined(tmp_path):
    child = await gate(tmp_path, "tool")
    try:
        with open(f"/proc/{child.pid}/limits") as file:
            limits = {line[:25].strip(): line[25:].split()[:2] for line in file}
        environment = Path(f"/proc/{child.pid}/environ").read_bytes()
    finally:
        child.kill()
        await child.wait()
    assert limits["Max cpu time"] == ["30", "30"]
    assert limits["Max file size"][0] != "unlimited"
    assert limits["Max data size"][0] != "unlimited"
    assert limits["Max address space"][0] != "unlimited"
    assert b"KEY" not in environment


async def test_a_candidate_sees_no_sign_of_the_gate():
    """What a guest can look at: its arguments, environment, clock, identifiers, log. It reports through describe()."""
    look = """
import json, os, sys, time
from thetis_guest import ToolManifest, sys as host
def describe() -> ToolManifest:
    seen: dict[str, object] = {"env": dict(os.environ), "argv": sys.argv}
    seen["modules"] = [m for m in sys.modules if "gate" in m or "forge" in m]
    seen["skew"] = abs(host.now_ms() / 1000 - time.time()) > 60
    return ToolManifest(name="probe", description=json.dumps(seen), input_schema={"type": "object"})
def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> object:
    if len(session_id) != 16: 1 / 0
    return "ok"
"""
    verdict = await judged(tool(look))
    assert verdict.ok, verdict.steps[-1]
    seen = json.loads(json.loads(verdict.describes)["description"])
    assert seen["modules"] == [] and seen["env"] == {} and not seen["skew"]


async def test_a_gates_directory_goes_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    verdict = await judged(tool("x: int = ''\n" + TOOL_MAIN))
    assert verdict.steps[-1].step == "ty"
    with pytest.raises(DeadlineExceeded):
        await DisposableJudge(fds_later, seconds=0.3)(JudgeGuest(tool("while True: pass\n" + TOOL_MAIN), "k"))
    assert not list(tmp_path.glob("thetis-gate-*"))
