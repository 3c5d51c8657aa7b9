"""A stop at any moment: durable, before everything else, and never the next turn's. The times are the bench's (stops)."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.gateway import endings
from thetis_kernel.gateway.repository import Repository
from thetis_kernel.hosts.worker.service import WorkerService
from thetis_kernel.protocol.events import (
    Assistant,
    BranchOp,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    User,
)
from thetis_kernel.protocol.worker import CancelTurn, GuestBundle, Place, RunTurn, TurnOutcome
from thetis_kernel.walls import runner
from thetis_kernel.walls.tier import Tier

from tests.support.gateways import Opened, gateway
from tests.support.walls import Bench, bench, every_tier

__all__ = ["bench"]
pytestmark = pytest.mark.runtimes


def ends(log: list[Any]) -> list[str]:
    return [body.stopped_by for body in log if isinstance(body, TurnFinished)]


def answered_once(log: list[Any]) -> bool:
    asked = [block["id"] for b in log if isinstance(b, Assistant) for block in b.blocks if block["type"] == "tool_use"]
    results = Counter(b.call for b in log if isinstance(b, ToolResult))
    return all(results[call] == 1 for call in asked) and len(results) == len(set(asked))


async def then(g: Opened, session: str, words: str = "list") -> list[Any]:
    """The log after another turn, which must not notice the stop before it."""
    await g.client.submit(session, words)
    await g.client.wait_idle(session)
    return await g.log(session)


async def test_it_does_not_wait_for_a_worker_that_does_not_answer(tmp_path: Path) -> None:
    """The end is in the log while the worker stands still; what that writes afterwards comes too late."""
    async with gateway(tmp_path) as g:
        session = await g.start("run sleep 60")
        await g.until_event(ToolInvocation)
        worker = g.worker_pid(session)
        os.kill(worker, signal.SIGSTOP)
        try:
            assert await g.client.stop(session) is True
            await g.until_event(TurnFinished, seconds=endings.KILL_AFTER_S / 2)
            assert g.gateway.turns.running(session) is not None, "the worker is still being waited for"
        finally:
            os.kill(worker, signal.SIGCONT)
        await g.client.wait_idle(session)
        log = await g.log(session)
        assert ends(log) == ["cancelled"] and answered_once(log)
        [result] = [b for b in log if isinstance(b, ToolResult)]
        assert result.outcome == "interrupted" and "person stopped" in result.content
        log = await then(g, session)
        assert ends(log) == ["cancelled", "stop"] and answered_once(log)


async def test_it_does_not_wait_for_a_worktree_or_a_worker_to_be_made(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        never = asyncio.Event()

        async def made(*_: object) -> list[GuestBundle]:
            await never.wait()
            return []

        tools, g.gateway.guests.tools = g.gateway.guests.tools, made  # type: ignore[assignment]
        session = await g.start("list")
        await g.until_event(TurnStarted)
        assert await g.client.stop(session) is True
        await g.until_event(TurnFinished)
        g.gateway.guests.tools = tools  # type: ignore[method-assign]
        assert ends(await then(g, session)) == ["cancelled", "stop"]


async def test_it_does_not_wait_for_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large repository's commit takes its time; the end is told before it, and the next turn begins after it."""
    may = asyncio.Event()
    commit = Repository.commit_turn

    async def slow(self: Repository, session: str, turn: str) -> None:
        await may.wait()
        await commit(self, session, turn)

    monkeypatch.setattr(Repository, "commit_turn", slow)
    async with gateway(tmp_path) as g:
        session = await g.start("write a.txt with hello")
        await g.until_event(Assistant, 2)  # the agent is about to end by itself, or has
        assert await g.client.stop(session) is True
        await g.until_event(TurnFinished)
        following = asyncio.ensure_future(g.client.submit(session, "list"))
        await g.client.status(walls=False)  # the words have arrived
        assert len(ends(await g.log(session))) == 1
        may.set()
        await following
        await g.client.wait_idle(session)
        log = await g.log(session)
        kinds = [
            type(b)
            for b in log
            if isinstance(b, BranchOp | User | TurnFinished) and getattr(b, "op", "commit") == "commit"
        ]
        assert kinds == [User, TurnFinished, BranchOp, User, TurnFinished]


async def test_words_and_a_stop_right_behind_them(tmp_path: Path) -> None:
    """The stop is for the turn of the words that were handed over before it, also when that has not begun."""
    async with gateway(tmp_path) as g:
        made = await g.client.create(origin="tui")
        await g.client.subscribe(made.id)
        said = asyncio.ensure_future(g.client.submit(made.id, "rehearse: slow 60000 ms"))
        stopped = asyncio.ensure_future(g.client.stop(made.id))
        await said
        assert await stopped is True
        await g.until_event(TurnFinished)
        assert ends(await then(g, made.id)) == ["cancelled", "stop"]


def test_a_stop_that_overtakes_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the worker: the notice may be heard before the turn's thread has begun."""
    begun: list[bool] = []

    class Turn:
        def __init__(self, ask: RunTurn, *_: Any) -> None:
            self.id, self.stopped = ask.turn, False

        def cancel(self) -> None:
            self.stopped = True

        def run(self) -> TurnOutcome:
            begun.append(self.stopped)
            return TurnOutcome(stopped_by="cancelled")

    monkeypatch.setattr("thetis_kernel.hosts.worker.service.Turn", Turn)
    service = WorkerService({})
    service.peer = None  # type: ignore[assignment]
    place = Place(worktree="", workspace="", spill="", git_dirs=[])
    guest = GuestBundle(aspect="agent", key="", bundle="")
    service.cancel(CancelTurn(turn="one"))
    for turn in ("one", "two"):
        service.run_turn(RunTurn(turn=turn, turn_json=b"{}", agent=guest, tools=[], place=place), None)  # type: ignore[arg-type]
    assert begun == [True, False]


@every_tier
def test_a_command_is_told_and_does_not_have_to_look(tier: Tier, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from thetis_kernel.stopsign import StopSign

    monkeypatch.setattr(runner, "_TICK_MS", 600_000)
    sign = StopSign()
    later = threading.Timer(0.3, sign.set)  # while the runner waits for the command
    result = bench.run(tier, "echo begun; sleep 8", on_output=lambda _: later.start(), cancel=sign)
    assert result.cancelled
