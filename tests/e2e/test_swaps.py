"""A tool is swapped again and again while conversations call it: each call answers as the revision it began with, whole.

The conversations run in real workers, with an agent that only swaps and calls. Each has two revisions of its own of one
tool, so that an answer of another conversation's, of an older revision or of a mixture of two would show.
"""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.protocol.events import TurnFinished
from thetis_kernel.protocol.worker import GuestBundle

from tests.support.gateways import Opened, gateway

pytestmark = pytest.mark.runtimes
AGENT = '''
import json
from thetis_guest import devkit, session, tooling

PATH = "tools/marked/main.py"
MAIN = """from __future__ import annotations
from thetis_guest import ToolManifest
FIRST = "MARK"
def describe() -> ToolManifest:
    return ToolManifest(name="marked", description="Says its mark.", input_schema={"type": "object", "properties": {}})
def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> str:
    return FIRST + "|" + LAST
LAST = "MARK"
"""

def handle_turn(turn):
    text = [e for e in session.read(0, 1 << 20)["events"] if e["kind"] == "user"][-1]["body"]["text"]
    plan = json.loads(text)
    wrong, number = [], 0
    if plan["begin"]:
        devkit.new_tool("marked", "Says its mark.")
        devkit.remove_code("tools/marked/test_main.py")
    for n in range(plan["rounds"]):
        mark = plan["tag"] + str(n % 2)
        written = devkit.write_code(PATH, MAIN.replace("MARK", mark))
        if not written["ok"]:
            wrong.append(str(written)[:300])
            continue
        calls = [{"id": f"call_{turn['turn']}_{n}_{i}", "name": "marked", "args": {}, "op": "tool:marked", "op-args": {}}
                 for i in range(plan["calls"])]
        for result in tooling.invoke_many(calls):
            number += 1
            if result["outcome"] != "ok" or result["content"] != mark + "|" + mark:
                wrong.append(str([mark, result])[:300])
    return {"stopped_by": "stop", "detail": json.dumps([number, wrong[:5]]), "iterations": plan["rounds"]}
'''


async def swapped(opened: Opened, sessions: list[str], rounds: int, calls: int, *, begin: bool) -> list[Any]:
    """Let each conversation swap and call, all at once; [calls made, what went wrong] of each."""
    for at, session in enumerate(sessions):
        plan = {"tag": f"c{at}-", "rounds": rounds, "calls": calls, "begin": begin}
        await opened.client.submit(session, json.dumps(plan))
    await asyncio.gather(*(opened.client.wait_idle(session) for session in sessions))
    told = []
    for session in sessions:
        state = await opened.gateway.log.state(session)
        page = await opened.client.read(session, max(0, state.seq - 3), 10)
        [finished] = [event.body for event in page.events if isinstance(event.body, TurnFinished)][-1:]
        assert finished.stopped_by == "stop", finished
        told.append(json.loads(finished.detail))
    return told


async def begun(opened: Opened, count: int) -> list[str]:
    from thetis_kernel.wasm.compiler import compile_bundle

    from tests.support.runtimes import runtime

    bundle = await asyncio.to_thread(lambda: compile_bundle(runtime("compiler"), {"main": AGENT}))

    async def agent(session: str = "") -> GuestBundle:
        return GuestBundle(aspect="agent", key="swapping", bundle=bundle, describes="{}", config="{}")

    opened.gateway.guests.agent = agent  # type: ignore[method-assign]
    return [(await opened.client.create(origin="headless")).id for _ in range(count)]


def own_memory(pid: int | str) -> int:
    """Anonymous memory of a process in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1024


async def test_every_call_answers_as_what_serves(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        sessions = await begun(opened, 2)
        told = await swapped(opened, sessions, 4, 3, begin=True)
        assert told == [[12, []]] * 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_a_thousand_swaps_under_four_conversations(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        sessions = await begun(opened, 4)
        assert await swapped(opened, sessions, 30, 4, begin=True) == [[120, []]] * 4
        pids = ["self", *(opened.worker_pid(session) for session in sessions)]
        before = [own_memory(pid) for pid in pids]
        assert await swapped(opened, sessions, 250, 4, begin=False) == [[1000, []]] * 4
        grown = [after - earlier for after, earlier in zip(map(own_memory, pids), before, strict=True)]
        assert max(grown) <= 20, grown


def test_calls_in_flight_finish_on_what_they_began_with() -> None:
    """Threads call whatever serves while it is swapped under them; each answer is of one revision, and of one that served."""
    from thetis_kernel.wasm.call import GuestCall, run_in_thread
    from thetis_kernel.wasm.compiler import compile_bundle
    from thetis_kernel.wasm.limits import TOOL_LIMITS

    from tests.support.runtimes import runtime

    compiler, tool = runtime("compiler"), runtime("tool")
    main = ("import part, time\ndef describe(): ...\ndef invoke(s, a, c):\n    time.sleep(0.002)\n"
            "    import late\n    return part.M + late.M\n")  # fmt: skip
    bundles = [compile_bundle(compiler, {"main": main, "part": f"M = '{m}'", "late": f"M = '{m}'"}) for m in "ab"]
    serving, wrong, made, over = {"tool": bundles[0]}, [], [0] * 4, threading.Event()

    def caller(me: int) -> None:
        while not over.is_set():
            run = GuestCall(tool, serving["tool"], {}, TOOL_LIMITS)
            answer = run_in_thread(run, "invoke", "s", "{}", "{}").result(30)
            made[me] += 1
            if answer not in ("aa", "bb"):
                wrong.append(answer)

    threads = [threading.Thread(target=caller, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    swaps = 0
    while min(made) < 12:
        serving["tool"] = bundles[swaps % 2]
        swaps += 1
        over.wait(0.001)
    over.set()
    for thread in threads:
        thread.join(30)
    assert wrong == [] and swaps > 12
