"""Modes and consent through the real gateway and worker: who is asked, what happens meanwhile, and what a mode forbids."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol.events import (
    Approval,
    SessionStarted,
    SettingChanged,
    StateChanged,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    User,
)

from tests.support.gateways import Opened, gateway
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes


async def request(client: GatewayClient, session: str) -> Approval:
    """The open request, once there is one."""
    async with asyncio.timeout(60):
        while not (found := await client.approvals(session)):
            await asyncio.sleep(0.02)
    return found[0]


async def ask(g: Opened, prompt: str, mode: str = "ask", who: Any = "screen") -> str:
    """A conversation whose turn was begun by such a client."""
    await g.client.attend(who)
    made = await g.client.create(origin="tui", mode=mode)
    await g.client.submit(made.id, prompt)
    return made.id


async def test_a_person_allows_a_command_and_refuses_a_file(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await ask(g, "run echo one && echo two")
        asked = await request(g.client, session)
        assert (asked.detail, [part.text for part in asked.parts]) == ("echo one && echo two", ["echo one", "echo two"])
        assert (await g.client.conversation(session)).asking == 1
        assert not [b for b in await g.log(session) if isinstance(b, ToolInvocation)], "nothing has begun"
        await g.client.decide(asked, session, "allow-session")
        await g.client.wait_idle(session)
        await g.client.submit(session, "run echo two")
        await g.client.wait_idle(session)
        await g.client.submit(session, "create notes.txt with Hello")
        await g.client.decide(await request(g.client, session), session, "deny")
        await g.client.wait_idle(session)
        results = [b for b in await g.log(session) if isinstance(b, ToolResult)]
        assert [b.outcome for b in results] == ["ok", "ok", "refused"] and "said no" in results[-1].content
        assert not (Path((await g.client.conversation(session)).worktree) / "notes.txt").exists()


async def test_headless_is_refused_with_the_reason_unless_a_rule_allows(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await ask(g, "run echo hi", who="run")
        await g.client.wait_idle(session)
        (result,) = [b for b in await g.log(session) if isinstance(b, ToolResult)]
        assert result.outcome == "refused" and "nobody to ask" in result.content
        await g.client.add_rule("exec", "echo *")
        await g.client.submit(session, "run echo hi")
        await g.client.wait_idle(session)
        assert [b.outcome for b in await g.log(session) if isinstance(b, ToolResult)] == ["refused", "ok"]


async def test_a_request_survives_the_kernel(tmp_path: Path) -> None:
    """Its turn is cut, the call is known not to have run, and the answer begins a turn that may do it."""
    World(tmp_path).make_repository({"README.md": "# Test\n"})
    holder = subprocess.Popen([sys.executable, "-m", "tests.support.asking_holder", str(tmp_path), "echo hi > made.txt"],
                              stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert holder.stdout is not None
    session = (await asyncio.to_thread(holder.stdout.readline)).strip()
    holder.kill()
    holder.wait()
    async with gateway(tmp_path) as g:
        await g.client.attend("screen")
        (asked,) = await g.client.approvals(session)
        log = await g.log(session)
        assert [b.outcome for b in log if isinstance(b, ToolResult)] == ["cancelled"], "not: outcome unknown"
        await g.client.decide(asked, session, "allow-once")
        await g.client.wait_idle(session)
        log = await g.log(session)
        assert [b.decision for b in log if isinstance(b, Approval)][:2] == ["", "allow-once"]
        assert [b.stopped_by for b in log if isinstance(b, TurnFinished)] == ["restarted", "stop"]


async def test_a_plan_is_handed_to_a_mode_that_carries_it_out(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await ask(g, "create notes.txt with Hello", mode="plan")
        await g.client.wait_idle(session)
        assert not [b for b in await g.log(session) if isinstance(b, ToolResult) and b.outcome == "ok"]
        with pytest.raises(RemoteError, match="read-only mode to one"):
            await g.client.hand_over(session, "chat")
        await g.client.hand_over(session, "agent")
        await g.client.wait_idle(session)
        log = await g.log(session)
        at = next(i for i, b in enumerate(log) if isinstance(b, SettingChanged))
        assert isinstance(log[at + 1], StateChanged) and log[at + 1].key == "approved" and isinstance(log[at + 2], User)
        assert (await g.client.conversation(session)).mode == "agent"
        with pytest.raises(RemoteError, match="read-only mode to one"):
            await g.client.hand_over(session, "agent")


async def test_a_mode_changed_while_a_turn_runs_counts_at_once(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await ask(g, "run echo hi > made.txt")
        asked = await request(g.client, session)
        await g.client.set(session, "mode", "plan")
        await g.client.decide(asked, session, "allow-once")
        await g.client.wait_idle(session)
        (result,) = [b for b in await g.log(session) if isinstance(b, ToolResult)]
        assert result.outcome == "refused" and "read-only" in result.content
        assert not (Path((await g.client.conversation(session)).worktree) / "made.txt").exists()


async def test_bridges_change_no_mode_and_answer_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await ask(g, "run echo hi")
        asked = await request(g.client, session)
        bridge = await g.gateway.connect()
        await bridge.attend("bridge")
        await bridge.attend("screen")  # once a bridge, always one
        for attempt in (bridge.set(session, "mode", "agent"), bridge.decide(asked, session, "allow-once"),
                        bridge.add_rule("exec", "*"), bridge.hand_over(session, "agent"), bridge.revoke_rule("r1")):
            with pytest.raises(RemoteError, match="over a bridge"):
                await attempt
        assert await g.client.approvals(session) == [asked]
        await g.client.stop(session)
        await g.client.wait_idle(session)
        assert await g.client.approvals(session) == []
        chat = "cd" * 8
        await asyncio.to_thread(g.gateway.log.store.create, chat, SessionStarted(
            root="/", origin="discord", mode="chat", model="rehearsal", branch="conv/cdcdcdcd"))
        with pytest.raises(RemoteError, match="came over a bridge"):
            await g.client.set(chat, "mode", "agent")
        assert (await g.client.conversation(chat)).mode == "chat"


def test_complaint_126_run_in_mode_ask_or_plan_writes_nothing_through_the_shell(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    for mode in ("plan", "chat", "ask"):
        done = world.run("run", "--mode", mode, "run echo x > made.txt", check=False)
        assert "made.txt" not in [path.name for path in (tmp_path).rglob("made.txt")], (mode, done.stdout, done.stderr)
