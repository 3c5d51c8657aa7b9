"""Sub-agents through every process, with the rehearsal model: complaints 44, 52, 53, 118-125, and what the issue asks of them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused, RemoteError, UsageError
from thetis_kernel.protocol.client import Conversation, StateChanged
from thetis_kernel.protocol.events import (
    Assistant,
    ChildSettled,
    ChildStarted,
    Nudge,
    SessionStarted,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    User,
)
from thetis_kernel.protocol.ids import new_session_id

from tests.support.gateways import Opened, gateway

pytestmark = pytest.mark.runtimes
FILES: dict[str, str | bytes] = {"README.md": "# Test\n", "src/a.py": "x = 1\n"}


def settings(base: Path, text: str) -> None:
    """The person's own configuration for `gateway`."""
    (base / "none.toml").write_text(text)


def of(log: list[Any], kind: type[Any]) -> list[Any]:
    return [body for body in log if isinstance(body, kind)]


def results(log: list[Any], name: str) -> list[ToolResult]:
    """Of the calls of one tool, in order."""
    calls = {call.call for call in of(log, ToolInvocation) if call.name == name}
    return [result for result in of(log, ToolResult) if result.call in calls]


async def finished(opened: Opened, session: str) -> list[Any]:
    await asyncio.wait_for(opened.client.wait_idle(session), 60)
    return await opened.log(session)


async def asleep(opened: Opened, session: str) -> None:
    """Until the parent sleeps and its children are at work."""
    def waits() -> bool:
        state = opened.gateway.log.known(session)
        return state is not None and any(call.op == "wait.until" for call in state.unanswered.values())

    await opened.eventually(waits)


async def test_each_has_its_own_log_and_its_answer_comes_back_as_its_own(tmp_path: Path) -> None:
    """120: the last answer and nothing else; 20: as a tool's result, labelled."""
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents list .; read src/a.py")
        log = await finished(opened, session)
        begun, ended = of(log, ChildStarted), of(log, ChildSettled)
        assert {body.child for body in begun} == {body.child for body in ended} and len(begun) == 2
        assert {body.state for body in ended} == {"done"} and all(body.steps == 2 and body.spent for body in ended)
        [woke] = results(log, "wait")
        told = {one["label"]: one["result"] for one in json.loads(woke.content)["agents"]}
        assert "README.md" in told["list ."] and "x = 1" in told["read src/a.py"]
        for body in begun:
            own = await opened.log(body.child)
            assert own[0] == SessionStarted(
                root=str(opened.world.repository), origin="child", mode="agent", model="rehearsal", branch=own[0].branch,
                parent=session, parent_seq=own[0].parent_seq, relation="child")
            assert [user.text for user in of(own, User)] == [body.task] and len(of(own, TurnFinished)) == 1
        mine = " ".join(str(body.blocks) for body in of(log, Assistant))
        assert "woke after" in mine, "the parent said what it was told"
        assert [line.id for line in await opened.client.conversations()] == [session], "the list holds no children"
        assert len(await opened.client.conversations(children=True)) == 3


async def test_a_sub_agent_has_no_tools_that_reach_agents_and_keeps_wait(tmp_path: Path) -> None:
    """125 and depth one, at listing: what the rehearsal is not offered it names."""
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents have agents list .; nap 1")
        log = await finished(opened, session)
        by_label = {body.label: body for body in of(log, ChildSettled)}
        assert "need the tool `spawn_agent`" in by_label["have agents list ."].result
        assert by_label["nap 1"].state == "done" and "the time is up" in by_label["nap 1"].result
        assert len(await opened.client.conversations(children=True)) == 3


async def test_depth_one_holds_in_the_store_whatever_asks(tmp_path: Path) -> None:
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents list .")
        child = of(await finished(opened, session), ChildStarted)[0].child
        with pytest.raises(Refused, match="sub-agent and can have none"):
            opened.gateway.log.store.create(new_session_id(), SessionStarted(
                root="/r", origin="child", mode="agent", model="m", branch="b", parent=child, relation="child"))


async def test_124_the_mode_is_the_narrower_one_whatever_is_asked_for(tmp_path: Path) -> None:
    """124: a child escapes read-only mode."""
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents create pwned.txt with x; list .", mode="plan")
        log = await finished(opened, session)
        assert {body.mode for body in of(log, ChildStarted)} == {"plan"}
        assert "pwned" not in str(list(opened.gateway.paths.worktrees.rglob("*")))


async def test_124_a_mode_that_narrows_while_they_work_narrows_them_too(tmp_path: Path) -> None:
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents nap 30")
        await asleep(opened, session)
        child = of(await opened.log(session), ChildStarted)[0].child
        await opened.client.set(session, "mode", "plan")
        # The child wakes for these words and tries to write, in a mode of its own that would let it.
        await opened.client.submit(child, "create pwned.txt with x")
        log = await finished(opened, session)
        own = await opened.log(child)
        assert [result.outcome for result in results(own, "write")] == ["refused"]
        assert of(log, ChildSettled)[0].state == "done", "it said so and ended"


async def test_a_persons_words_wake_a_sleeping_parent_and_steer_a_child(tmp_path: Path) -> None:
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents nap 300")
        await asleep(opened, session)
        child = of(await opened.log(session), ChildStarted)[0].child
        said = await opened.client.submit(session, "how are the agents")
        assert said.how == "nudge"
        await opened.eventually(lambda: opened.gateway.turns.running(session) is None)
        [woke] = results(await opened.log(session), "wait")
        assert json.loads(woke.content)["woken_by"] == "message"
        assert "running" in results(await opened.log(session), "agent_status")[0].content
        steered = await opened.client.submit(child, "list src")
        assert steered.how == "nudge"
        log = await finished(opened, session)
        assert "a.py" in of(log, ChildSettled)[0].result


async def test_a_stop_ends_the_tree_and_a_sleep_in_no_time(tmp_path: Path) -> None:
    """101: stopped agents come back."""
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents nap 300; nap 301; nap 302")
        await asleep(opened, session)
        before = time.monotonic()
        await opened.client.stop(session)
        log = await finished(opened, session)
        took = time.monotonic() - before
        assert took < 10, "far below the sleep; bench measures it"
        assert [body.state for body in of(log, ChildSettled)] == ["cancelled"] * 3
        assert all("stopped together" in body.detail for body in of(log, ChildSettled))
        assert results(log, "wait")[0].outcome in ("cancelled", "interrupted")
        assert len(of(log, TurnFinished)) == 1, "nothing begins again by itself"
        assert opened.gateway.turns.all_running() == []
        with pytest.raises((UsageError, RemoteError), match="not at work"):
            await opened.client.submit(of(log, ChildStarted)[0].child, "go on")


async def test_what_was_cut_off_is_never_a_success(tmp_path: Path) -> None:
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("rehearse: agents rehearse: fail; rehearse: cut; rehearse: stuck; rehearse: overflow")
        log = await finished(opened, session)
        ended = {body.label: body for body in of(log, ChildSettled)}
        assert {body.state for body in ended.values()} == {"failed"} and all(body.detail for body in ended.values())
        assert ended["rehearse: fail"].result == "I begin to answer and", "partial work is kept"
        words = " ".join(str(body.blocks) for body in of(log, Assistant))
        assert "which is not an answer" in words


async def test_too_many_are_refused_by_name(tmp_path: Path) -> None:
    settings(tmp_path, "[subagents]\nmax_children = 2\n")
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents nap 2; nap 2; nap 2; nap 2")
        log = await finished(opened, session)
        outcomes = [result.outcome for result in results(log, "spawn_agent")]
        assert sorted(outcomes) == ["ok", "ok", "refused", "refused"]
        refused = next(result for result in results(log, "spawn_agent") if result.outcome == "refused")
        assert "subagents.max_children" in refused.content
        assert [body.label for body in of(log, ChildStarted)] == ["nap 2", "nap 2 2"], "labels are told apart"


async def test_52_53_one_purse_ends_the_tree_and_refuses_new_ones(tmp_path: Path) -> None:
    """52: child loops ate 12 % of an allowance; 53: a budget cap did not stop background children."""
    settings(tmp_path, "[agent]\nmax_tokens = 150000\n")
    async with gateway(tmp_path, FILES) as opened:
        loops = "; ".join(["rehearse: loop 500 calls"] * 3)
        session = await opened.start(f"rehearse: agents {loops}; nap 300")
        log = await finished(opened, session)
        ended = of(log, ChildSettled)
        assert [body.state for body in ended] == ["failed"] * 4
        assert all("150,000 tokens (agent.max_tokens)" in body.detail for body in ended), "also the one that made no calls"
        assert of(log, TurnFinished)[-1].stopped_by == "limit"
        state = await opened.gateway.log.state(session)
        largest = max(spent.tokens / max(spent.calls, 1) for body in ended for spent in body.spent.values())
        assert 150_000 <= state.purse.tokens <= 150_000 + 5 * 2 * largest, "no more than the calls that were under way"
        turn = type("Turn", (), {"attended": False, "stop": asyncio.Event(), "id": "t"})()
        with pytest.raises(Refused, match=r"No sub-agent is begun: .*agent\.max_tokens"):
            await opened.gateway.children.spawn(session, turn, {"label": "more", "task": "t" * 50})
        # A person's words open a new purse.
        await opened.client.submit(session, "have agents list .")
        log = await finished(opened, session)
        assert of(log, ChildSettled)[-1].state == "done"


async def test_52_a_child_has_a_limit_of_its_own(tmp_path: Path) -> None:
    settings(tmp_path, "[subagents]\nmax_child_tokens = 40000\n")
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("rehearse: agents rehearse: loop 500 calls; list .")
        log = await finished(opened, session)
        ended = {body.label: body for body in of(log, ChildSettled)}
        assert "subagents.max_child_tokens" in ended["rehearse: loop 500 calls"[:24]].detail
        assert ended["list ."].state == "done" and of(log, TurnFinished)[-1].stopped_by == "stop"


async def test_52_steps_are_counted_over_the_tree(tmp_path: Path) -> None:
    settings(tmp_path, "[agent]\nmax_iterations = 10\n[subagents]\nmax_steps = 12\n")
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("rehearse: agents rehearse: loop 9 calls; rehearse: loop 9 calls")
        log = await finished(opened, session)
        assert any("12 model calls (subagents.max_steps)" in body.detail for body in of(log, ChildSettled))
        assert sum(body.steps for body in of(log, ChildSettled)) <= 12 + 2


async def test_121_children_that_outlive_the_turn_are_told_of_when_they_settle(tmp_path: Path) -> None:
    """121: a parent ends before its children; they are visible, and their end begins a turn that knows of it."""
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents in the background nap 2; nap 2")
        await opened.until(lambda heard: any(
            isinstance(tell, StateChanged) and tell.conversation.id == session and tell.conversation.state == "idle"
            and len(tell.conversation.children) == 2 for tell in heard))
        log = await finished(opened, session)
        assert len(of(log, TurnFinished)) >= 2 and len(of(log, ChildSettled)) == 2
        notes = [body.text for body in of(log, Nudge)]
        assert any("settled" in note and "done" in note for note in notes)
        assert "I slept" not in " ".join(notes), "what a child says is no note of the system"


async def test_118_a_line_a_child_live(tmp_path: Path) -> None:
    """118: 15 minutes of silence. State, last tool, elapsed and tokens of each, while it works."""
    async with gateway(tmp_path, FILES) as opened:
        def lines() -> list[Conversation]:
            return [tell.conversation for tell in opened.heard if isinstance(tell, StateChanged) and tell.conversation.children]

        session = await opened.start("have agents nap 300")
        await opened.eventually(lambda: any(one.last.startswith("wait") and one.tokens > 0 and one.steps == 1
                                            for line in lines() for one in line.children))
        [line] = await opened.client.children(session)
        assert line.state == "running" and line.elapsed_ms > 0
        assert await opened.client.stop_child(session, line.child)
        log = await finished(opened, session)
        assert of(log, ChildSettled)[0].state == "cancelled" and "A person stopped it" in of(log, ChildSettled)[0].detail
        assert of(log, TurnFinished)[-1].stopped_by == "stop", "the parent goes on"
        assert not await opened.client.stop_child(session, line.child)


async def test_a_vague_brief_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("rehearse: vague")
        log = await finished(opened, session)
        [refused] = results(log, "spawn_agent")
        assert "Objective:, Return:, Sources:, Boundaries:, Known:" in refused.content and not of(log, ChildStarted)


async def test_a_deleted_conversation_takes_its_children_along(tmp_path: Path) -> None:
    async with gateway(tmp_path, FILES) as opened:
        session = await opened.start("have agents list .")
        await finished(opened, session)
        await opened.client.submit(session, "have agents in the background nap 300")
        await opened.eventually(lambda: opened.gateway.turns.running(session) is None)
        with pytest.raises((UsageError, RemoteError), match="at work"):
            await opened.client.delete(session)
        await opened.client.stop(session)
        await finished(opened, session)
        await opened.client.delete(session)
        assert await opened.client.conversations(children=True) == []
