"""Terminals in a conversation, through the gateway and a real worker: the log, the ends of workers, what wakes a turn."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.events import Nudge, SystemNote, ToolInvocation, ToolResult, TurnFinished, TurnStarted

from tests.support.gateways import Opened, bodies, gateway
from tests.support.walls import alive, mark, wait_until

__all__ = ["mark"]

pytestmark = pytest.mark.runtimes


async def said(g: Opened, session: str, words: str) -> list[ToolResult]:
    """Say something, wait for the turn; the results of its calls."""
    before = len(await g.log(session))
    await g.client.submit(session, words)
    await g.client.wait_idle(session)
    return [body for body in (await g.log(session))[before:] if isinstance(body, ToolResult)]


async def test_a_terminal_lives_through_turns_and_is_missed_when_its_worker_is_gone(tmp_path: Path, mark: str) -> None:
    async with gateway(tmp_path, {"src/a.txt": "x\n"}) as g:
        session = await g.start("in a terminal run cd src then export A=1 then echo live-$A; exit 4", mode="agent")
        await g.client.wait_idle(session)
        results = [body for body in await g.log(session) if isinstance(body, ToolResult)]
        assert [body.outcome for body in results] == ["ok", "ok", "ok", "error"]
        assert results[-1].data["exit"] == 4 and '"cwd":"src"' in results[-1].content
        assert "live-1" in "".join(tell.text for tell in g.heard if isinstance(tell, Delta) and tell.kind == "output")
        [looked] = await said(g, session, "look at t1")
        assert '"cwd":"src"' in looked.content
        await said(g, session, f"start sleep {mark} in the background")
        assert wait_until(lambda: len(alive(mark)) == 1)
        os.kill(g.worker_pid(session), signal.SIGKILL)
        assert await asyncio.to_thread(wait_until, lambda: not alive(mark))
        [missing] = await said(g, session, "look at t1")
        assert missing.outcome == "error" and "no terminal 't1'" in missing.content
        [note] = [body for body in await g.log(session) if isinstance(body, SystemNote) and body.about == "terminals"]
        assert "t1" in note.text and "t2" in note.text and "process was replaced" in note.text


async def test_a_finished_background_command_begins_a_turn_that_hears_of_it(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("start sleep 3 in the background", mode="agent")
        await g.until_event(TurnFinished)
        assert bodies(g.heard, Nudge) == []
        await g.until_event(TurnFinished, 2)
        [nudge] = [body for body in await g.log(session) if isinstance(body, Nudge)]
        assert nudge.source == "system" and "'sleep 3' ended with exit 0" in nudge.text
        assert "terminal_read" in [body.name for body in await g.log(session) if isinstance(body, ToolInvocation)]


async def test_101_what_a_person_stopped_stays_stopped(tmp_path: Path) -> None:
    """CC 2.1.211, 2.1.191: stopped agents come back. A background command's end must not begin a turn after a stop."""
    async with gateway(tmp_path) as g:
        session = await g.start("start sleep 4 in the background", mode="agent")
        await g.client.wait_idle(session)
        await g.client.submit(session, "rehearse: slow 60000 ms")
        await g.until_event(TurnStarted, 2)
        assert await g.client.stop(session)
        await g.client.wait_idle(session)
        await g.until_event(Nudge)
        log = await g.log(session)
        assert isinstance(log[-1], Nudge) and sum(isinstance(body, TurnStarted) for body in log) == 2


async def test_a_stop_ends_the_command_and_not_the_terminal(tmp_path: Path, mark: str) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start(f"in a terminal run x=kept then sleep {mark}", mode="agent")
        assert await asyncio.to_thread(wait_until, lambda: alive(mark))
        assert await g.client.stop(session)
        await g.client.wait_idle(session)
        assert await asyncio.to_thread(wait_until, lambda: not alive(mark))
        result = [body for body in await g.log(session) if isinstance(body, ToolResult)][-1]
        assert result.outcome in ("cancelled", "interrupted")  # the second when the stop was faster than the answer
        [looked] = await said(g, session, "look at t1")
        assert '"running":false' in looked.content


async def test_94_an_open_terminal_does_not_outlive_its_gateway(tmp_path: Path, mark: str) -> None:
    """opencode#14199: agent processes from days ago."""
    async with gateway(tmp_path) as g:
        session = await g.start(f"start setsid sleep {mark} in the background", mode="agent")
        await g.client.wait_idle(session)
        assert wait_until(lambda: alive(mark))
    assert wait_until(lambda: not alive(mark))
