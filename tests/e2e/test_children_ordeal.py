"""Eight children at a time on a server that delays, fails, overloads, cuts and falls silent: each spawn ends in one result, and
nothing stays behind. The long one is `make test-all`'s.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.protocol.events import ChildSettled, ChildStarted, ToolInvocation, ToolResult, TurnFinished

from tests.support.family import CHILDREN, FATES, WHOLE, Family, configure, descriptors, threads
from tests.support.gateways import Opened, gateway
from tests.support.messages_server import MessagesServer, call, reply, text

pytestmark = pytest.mark.runtimes


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    monkeypatch.setenv("OUR_KEY", "sk-canary-children")
    with MessagesServer(Family()) as made:
        yield made


async def rounds(opened: Opened, turns: int) -> tuple[str, list[tuple[int, int, int]]]:
    """Run them in one conversation; after each (threads, descriptors, processes) of what it leaves."""
    made = await opened.client.create(origin="headless")
    left = []
    for turn in range(turns):
        await opened.client.submit(made.id, f"round {turn} of many")
        await opened.client.wait_idle(made.id)
        pid = opened.worker_pid(made.id)
        await opened.eventually(lambda pid=pid: not opened.gateway.turns.all_running())
        children = sum(len(path.read_text().split()) for path in Path(f"/proc/{os.getpid()}/task").glob("*/children"))
        left.append((threads(pid), descriptors(pid), children))
    return made.id, left


async def check(opened: Opened, session: str, turns: int) -> None:
    """Every spawn ends in one result, as its fate says."""
    events = [event.body for event in opened.gateway.log.store.iterate(session)]
    begun = [body for body in events if isinstance(body, ChildStarted)]
    ended = [body for body in events if isinstance(body, ChildSettled)]
    assert len(begun) == turns * CHILDREN
    assert sorted(body.child for body in begun) == sorted(body.child for body in ended), "one end each"
    for body in ended:
        assert body.state == FATES[int(body.label.rpartition("-")[2])], (body.label, body.detail)
        assert body.detail or body.state == "done"
        if body.state == "done":
            assert body.result.startswith("The word of piece")
    spawned = {body.call for body in events if isinstance(body, ToolInvocation) and body.name == "spawn_agent"}
    answered = [body.call for body in events if isinstance(body, ToolResult) and body.call in spawned]
    assert sorted(answered) == sorted(spawned) and len(spawned) == turns * CHILDREN
    finished = [body for body in events if isinstance(body, TurnFinished)]
    assert [body.stopped_by for body in finished] == ["stop"] * turns
    for body in begun:
        own = [event.body for event in opened.gateway.log.store.iterate(body.child)]
        assert len([one for one in own if isinstance(one, TurnFinished)]) == 1, "no child runs twice"
    assert not (await opened.gateway.log.state(session)).children
    said = [body for body in events if getattr(body, "blocks", None)]
    assert said[-1].blocks[-1]["text"] == WHOLE


async def test_each_spawn_ends_in_one_result_and_nothing_is_left(tmp_path: Path, server: MessagesServer) -> None:
    configure(tmp_path, server)
    async with gateway(tmp_path, {"README.md": "# x\n"}) as opened:
        session, left = await rounds(opened, 2)
        await check(opened, session, 2)
        assert left[1][0] <= left[0][0] + 1 and left[1][1] <= left[0][1] + 1 and left[1][2] <= left[0][2]


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_200_turns_of_eight(tmp_path: Path, server: MessagesServer) -> None:
    """And the conversation is compacted again and again meanwhile: without that a request grew to 3 MB."""
    configure(tmp_path, server, f"[agent]\nmax_tokens = {10**9}\n[context]\nthreshold_percent = 15\ntarget_percent = 6\n")
    async with gateway(tmp_path, {"README.md": "# x\n"}) as opened:
        session, left = await rounds(opened, 200)
        await check(opened, session, 200)
        assert len([event for event in opened.gateway.log.store.iterate(session) if event.kind == "compaction"]) >= 4
        early, late = left[10], left[-1]
        assert late[0] <= early[0] + 2 and late[1] <= early[1] + 2 and late[2] <= early[2], (early, late)


async def test_122_with_the_bell_off_only_latency_grows(
    tmp_path: Path, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """122: missed wake-ups. The same turn, with every ring swallowed in the worker."""
    monkeypatch.setenv("THETIS_BELL", "deaf")
    configure(tmp_path, server)
    async with gateway(tmp_path, {"README.md": "# x\n"}) as opened:
        session, _ = await rounds(opened, 1)
        await check(opened, session, 1)


async def test_54_what_can_never_succeed_is_asked_once_and_the_parent_goes_on(tmp_path: Path, server: MessagesServer) -> None:
    """54, for a child: a permanent error is not tried again, and is told as what it is."""
    brief = "Objective: piece 0.4\nReturn: a word.\nSources: none.\nBoundaries: stop then.\nKnown: nothing."
    server.say(reply(call("s", "spawn_agent", label="doomed", task=brief)))
    configure(tmp_path, server)
    async with gateway(tmp_path, {"README.md": "# x\n"}) as opened:
        made = await opened.client.create(origin="headless")
        await opened.client.submit(made.id, "round 0 begins otherwise")
        await opened.eventually(lambda: any("piece 0.4" in str(request.told["messages"][0]) for request in server.requests))
        await opened.client.wait_idle(made.id)
        doomed = [request for request in server.requests if "piece 0.4" in str(request.told["messages"][0])]
        ended = [body for body in await opened.log(made.id) if isinstance(body, ChildSettled) and body.label == "doomed"]
        assert [body.state for body in ended] == ["failed"] and "never succeed" in ended[0].detail
        assert len(doomed) <= 2  # this one, and the family's own of that name


async def test_52_the_price_of_children_counts_into_the_conversation(tmp_path: Path, server: MessagesServer) -> None:
    """52, in money: the cap stops parent and children, passed by no more than what was under way."""
    brief = "Objective: piece 9.6\nReturn: a word.\nSources: none.\nBoundaries: stop then.\nKnown: nothing."

    def loops(request: object) -> object:
        told = request.told  # type: ignore[attr-defined]
        if "piece" in str(told["messages"][0]):
            return reply(text("On."), call(f"l{len(told['messages'])}", "list", path="."))
        calls = len([m for m in told["messages"] if m["role"] == "assistant"])
        if calls == 0:
            return reply(*[call(f"s{n}", "spawn_agent", label=f"loop {n}", task=brief) for n in range(4)])
        return reply(call(f"w{calls}", "wait"))

    server.otherwise = loops  # type: ignore[assignment]
    configure(tmp_path, server, "[agent]\nmax_dollars = 0.01\n")
    async with gateway(tmp_path, {"README.md": "# x\n"}) as opened:
        made = await opened.client.create(origin="headless")
        await opened.client.submit(made.id, "go")
        await opened.client.wait_idle(made.id)
        log = await opened.log(made.id)
        ended = [body for body in log if isinstance(body, ChildSettled)]
        assert len(ended) == 4 and all("agent.max_dollars" in body.detail for body in ended)
        assert [body.stopped_by for body in log if isinstance(body, TurnFinished)] == ["limit"]
        line = await opened.client.conversation(made.id)
        one = float(max(spent.cost / spent.calls for body in ended for spent in body.spent.values()))
        assert 0.01 <= float(line.spent.cost) <= 0.01 + 5 * one + 1e-9, json.dumps([float(line.spent.cost), one])
