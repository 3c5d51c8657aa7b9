"""The gateway with its real children: nudges, stops, deaths, limits, and what is left of them in the log."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.events import (
    Assistant,
    Incident,
    Nudge,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    User,
)

from tests.support.gateways import bodies, gateway
from tests.support.thetis import World, fingerprint

pytestmark = pytest.mark.runtimes


async def test_words_during_a_turn_reach_it(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("rehearse: slow 1500 ms")
        await g.until_event(TurnStarted)
        told = await g.client.submit(session, "read README.md", event_id="a" * 32)
        assert told.how == "nudge"
        again = await g.client.submit(session, "read README.md", event_id="a" * 32)
        assert again.seq == told.seq
        await g.client.wait_idle(session)
        log = await g.log(session)
        assert [b.text for b in log if isinstance(b, Nudge)] == ["read README.md"]
        assert sum(isinstance(b, User) for b in log) == 1
        assert any(isinstance(b, ToolInvocation) and b.name == "read" for b in log)


async def test_the_same_event_id_is_one_message(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        made = await g.client.create(origin="headless")
        first = await g.client.submit(made.id, "list", event_id="b" * 32)
        await g.client.wait_idle(made.id)
        second = await g.client.submit(made.id, "list", event_id="b" * 32)
        await g.client.wait_idle(made.id)
        assert first.seq == second.seq
        log = await g.log(made.id)
        assert sum(isinstance(b, User) for b in log) == sum(isinstance(b, TurnFinished) for b in log) == 1


@pytest.mark.parametrize("prompt", ["rehearse: slow 60000 ms", "run sleep 60", "rehearse: loop 5000 calls"])
async def test_a_stop_ends_the_turn_wherever_it_is(tmp_path: Path, prompt: str) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start(prompt)
        await g.until_event(ToolInvocation if "slow" not in prompt else TurnStarted)
        assert await g.client.stop(session) is True
        async with asyncio.timeout(10):
            await g.client.wait_idle(session)
        assert await g.client.stop(session) is False
        log = await g.log(session)
        assert [b.stopped_by for b in log if isinstance(b, TurnFinished)] == ["cancelled"]
        assert any(isinstance(b, SystemNote) and b.about == "stop" for b in log)
        calls = Counter(b.call for b in log if isinstance(b, ToolInvocation))
        results = Counter(b.call for b in log if isinstance(b, ToolResult))
        assert all(results[call] == 1 for call in calls)
        # It never leaks into the next turn.
        await g.client.submit(session, "list")
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "stop"


async def test_a_worker_that_dies_is_replaced_and_the_turn_resumed_twice_at_most(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("rehearse: slow 60000 ms")
        for attempt in range(3):
            await g.until_event(TurnStarted, attempt + 1)
            await g.eventually(lambda: g.gateway.fleet.supervisor.get(f"worker:{session}") is not None)
            os.kill(g.worker_pid(session), signal.SIGKILL)
        await g.until_event(TurnFinished, 3)
        await g.client.wait_idle(session)
        log = await g.log(session)
        assert [b.attempt for b in log if isinstance(b, TurnStarted)] == [0, 1, 2]
        assert [b.stopped_by for b in log if isinstance(b, TurnFinished)] == ["restarted"] * 3
        assert sum(isinstance(b, Incident) for b in log) == 3
        assert (await g.client.conversation(session)).state in ("interrupted", "parked")


async def test_a_dead_model_host_ends_the_turn_with_words(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("rehearse: slow 60000 ms")
        await g.until_event(TurnStarted)
        await g.eventually(lambda: bool(g.gateway.models._streams))
        os.kill(g.gateway.fleet.supervisor.get("model").pid, signal.SIGKILL)  # type: ignore[union-attr]
        await g.client.wait_idle(session)
        [end] = [b for b in await g.log(session) if isinstance(b, TurnFinished)]
        assert end.stopped_by == "model-error" and "model host" in end.detail
        await g.client.submit(session, "list")
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "stop"


async def test_limits_end_a_turn_with_a_stated_reason(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("rehearse: loop 500 calls")
        await g.client.wait_idle(session)
        end = (await g.log(session))[-1]
        assert end.stopped_by == "limit" and "60" in end.detail


async def test_the_same_failing_call_is_nudged_then_ended(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("rehearse: stuck")
        await g.client.wait_idle(session)
        log = await g.log(session)
        assert log[-1].stopped_by == "repeated-failure"
        assert any(isinstance(b, SystemNote) for b in log)


async def test_failures_of_the_model_are_values(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        for drill in ("rehearse: fail", "rehearse: overflow"):
            session = await g.start(drill)
            await g.client.wait_idle(session)
            assert (await g.log(session))[-1].stopped_by == "model-error"
            await g.client.submit(session, "list")
            await g.client.wait_idle(session)
            assert (await g.log(session))[-1].stopped_by == "stop"


async def test_everything_is_told_in_order_without_gaps(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("what is in this repository?")
        await g.client.wait_idle(session)
        await g.until_event(TurnFinished)
        seqs = [t.event.seq for t in g.heard if isinstance(t, c.EventStored)]
        last = (await g.client.read(session)).last_seq
        assert seqs == list(range(seqs[0], last + 1))
        streamed = "".join(t.text for t in g.heard if isinstance(t, c.Delta) and t.kind == "text")
        stored = "".join(b["text"] for body in bodies(g.heard, Assistant) for b in body.blocks if b["type"] == "text")
        assert streamed == stored


async def test_rendering_is_the_guests_and_survives_its_host(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("read README.md")
        await g.client.wait_idle(session)
        last = (await g.client.read(session)).last_seq
        first = await g.client.render(session, 0, last)
        assert [r.seq for r in first] == list(range(1, last + 1)) and g.gateway.renderer.failures == 0
        os.kill(g.gateway.fleet.supervisor.get("face").pid, signal.SIGKILL)  # type: ignore[union-attr]
        await g.client.submit(session, "list")
        await g.client.wait_idle(session)
        last = (await g.client.read(session)).last_seq
        assert [r.seq for r in await g.client.render(session, 0, last)] == list(range(1, last + 1))


async def test_settings_are_events_and_checked(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        made = await g.client.create(origin="tui")
        await g.client.set(made.id, "title", "  A   better\nname ")
        await g.client.set(made.id, "mode", "plan")
        line = await g.client.conversation(made.id[:6])
        assert (line.title, line.mode, line.branch) == ("A better name", "plan", "")
        for name, value in (("mode", "yolo"), ("model", "gpt"), ("colour", "red"), ("archived", "maybe")):
            with pytest.raises(RemoteError) as caught:
                await g.client.set(made.id, name, value)
            assert caught.value.code == "usage"
        await g.client.delete(made.id)
        assert await g.client.conversations() == []


async def test_a_second_program_attaches_to_the_first(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("list")
        await g.client.wait_idle(session)
        done = await asyncio.to_thread(g.world.run, "run", "--conversation", session, "read README.md")
        assert "# Test" in done.stdout
        assert sum(isinstance(b, User) for b in await g.log(session)) == 2


async def test_search_finds_what_was_said(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": "zanzibar\n"}) as g:
        session = await g.start("read a.txt")
        await g.client.wait_idle(session)
        hits = await g.client.search("zanzibar")
        assert hits and {h.session for h in hits} == {session}
        assert await g.client.search('") UNION SELECT qqzzx --') == []


async def test_twenty_turns_leave_the_root_as_it_was(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": "0\n", "run.sh": "#!/bin/sh\n"}) as g:
        (g.world.repository / "untracked.txt").write_text("mine\n")
        (g.world.repository / "a.txt").write_text("dirty\n")
        before = fingerprint(g.world.repository)
        session = await g.start("create n0.txt with 0")
        await g.client.wait_idle(session)
        for n in range(1, 20):
            await g.client.submit(session, [f"create n{n}.txt with {n}", f"run echo {n} >> log.txt", "list"][n % 3])
            await g.client.wait_idle(session)
        assert fingerprint(g.world.repository) == before
        branch = (await g.client.conversation(session)).branch
        subjects = g.world.git("log", "--format=%s", f"main..{branch}").splitlines()
        assert len(subjects) == 14  # a turn that changed nothing makes no commit
        ends = [b for b in await g.log(session) if isinstance(b, TurnFinished)]
        assert len(ends) == 20 and {e.stopped_by for e in ends} == {"stop"}


async def test_every_guest_call_opens_a_store(tmp_path: Path) -> None:
    """Counted in the worker: a turn's agent call and each tool guest's call open one each."""
    async with gateway(tmp_path, {"m.py": "def f():\n    return 1\n"}) as g:
        session = await g.start("outline m.py")
        await g.client.wait_idle(session)
        log = await g.log(session)
        calls = sum(isinstance(b, ToolInvocation) and b.op.startswith("tool:") for b in log)
        assert calls >= 1
        end = next(b for b in log if isinstance(b, TurnFinished))
        assert end.guest_calls == 1 + calls


async def test_without_walls_a_person_is_asked_once_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THETIS_WALLS", "none")
    async with gateway(tmp_path, can_ask=True) as g:
        session = await g.start("run echo walled-in")
        await g.until(lambda heard: any(isinstance(t, c.WallsQuestion) for t in heard))
        assert not any(isinstance(b, ToolResult) for b in await g.log(session))
        await g.client.consent(True)
        await g.client.wait_idle(session)
        assert "walled-in" in str(await g.log(session))
        await g.client.submit(session, "run echo again")
        await g.client.wait_idle(session)
        assert sum(isinstance(t, c.WallsQuestion) for t in g.heard) == 1
    async with gateway(tmp_path, can_ask=True) as g:  # the answer is kept for the root
        other = await g.start("run echo later")
        await g.client.wait_idle(other)
        assert not any(isinstance(t, c.WallsQuestion) for t in g.heard)
        assert any(isinstance(b, ToolResult) and b.outcome == "ok" for b in await g.log(other))


async def test_a_stop_while_a_person_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THETIS_WALLS", "none")
    async with gateway(tmp_path, can_ask=True) as g:
        session = await g.start("run echo x")
        await g.until(lambda heard: any(isinstance(t, c.WallsQuestion) for t in heard))
        await g.client.stop(session)
        async with asyncio.timeout(15):
            await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "cancelled"


async def test_a_repository_without_a_commit_says_so_and_offers_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository.mkdir()
    world.git("init", "-q")
    (world.repository / "mine.txt").write_text("mine\n")
    async with gateway(tmp_path) as g:
        status = await g.client.status()
        assert status.root_kind == "no-commit" and "commit" in status.root_problem and status.root_offer == "first-commit"
        session = await g.start("list")
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "error"
        status = await g.client.accept_offer("first-commit")
        assert status.root_problem == "" and world.git("log", "--format=%s").strip()
        await g.client.submit(session, "list")
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "stop"
        assert (world.repository / "mine.txt").read_text() == "mine\n"
