"""Questions, notes, compaction and originals through every process: asked, answered, kept, restarted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.asking import Given
from thetis_kernel.protocol.events import Answer, Assistant, Compaction, Question, TurnFinished, TurnStarted

from tests.support.gateways import Opened, gateway
from tests.support.thetis import World, answer, lines

ASK = "ask me which colour: red, green or blue"
PROMPT = "aspects/agent_core/prompt.py"
SMALL = "[context]\nthreshold_percent = 5\ntarget_percent = 3\nkeep_head = 2\nkeep_tail = 2\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "hello\n", "big.txt": "".join(f"line {n} with some words in it\n" for n in range(900))})
    return made


async def said(opened: Opened, session: str, text: str) -> list[Any]:
    before = len(await opened.log(session))
    await opened.client.submit(session, text)
    await opened.client.wait_idle(session)
    return (await opened.log(session))[before:]


def words(events: list[Any]) -> str:
    return "\n".join(str(block.get("text", "")) for event in events if isinstance(event, Assistant) for block in event.blocks)


def test_a_headless_run_prints_the_question_and_says_so_by_its_status(world: World) -> None:
    done = world.run("run", ASK, check=False)
    assert done.returncode == 3 and "which colour?" in done.stderr and "b) green" in done.stderr
    session = json.loads(world.run("ls", "--json").stdout)[0]["id"]
    asked = world.run("answer", session[:8]).stdout
    assert "c) blue" in asked and f"thetis answer {session[:8]}" in asked
    wrong = world.run("answer", session, "a", "b", check=False)
    assert wrong.returncode == 2 and "1 questions and 2 answers" in wrong.stderr
    events = lines(world.run("answer", "--json", session, "b").stdout)
    assert "green" in answer(events) and events[-1]["body"]["stopped_by"] == "stop"
    assert "Nothing is asked" in world.run("answer", session).stdout


async def test_a_question_survives_a_restart_and_its_answer_begins_a_turn(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start(ASK)
        await opened.client.wait_idle(session)
        [end] = [event for event in await opened.log(session) if isinstance(event, TurnFinished)]
        assert end.stopped_by == "asked"
        assert (await opened.client.conversation(session)).asking == 1
    async with gateway(tmp_path) as opened:
        [question] = await opened.client.questions(session)
        for given in ([], [Given("1", chose=["mauve"])], [Given("1", chose=["red", "blue"])], [Given("1"), Given("2")]):
            with pytest.raises(ThetisError):
                await opened.client.answer_question(session, question.id, given)
        bridge = await opened.gateway.connect()
        await bridge.attend("bridge")
        with pytest.raises(ThetisError, match="bridge"):
            await bridge.answer_question(session, question.id, [Given("1", chose=["red"])])
        given = [Given("1", chose=["red"], wrote="a dark one")]
        seqs = {await opened.client.answer_question(session, question.id, given, event_id="a1") for _ in range(2)}
        await opened.client.wait_idle(session)
        events = await opened.log(session)
        assert len(seqs) == 1
        assert [event.answers[0]["answer"] for event in events if isinstance(event, Answer)] == ["red, a dark one"]
        assert "red, a dark one" in words(events) and await opened.client.questions(session) == []


async def test_what_the_person_says_instead_ends_the_question(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start(ASK)
        await opened.client.wait_idle(session)
        await said(opened, session, "list .")
        assert await opened.client.questions(session) == []
        [asked] = [event for event in await opened.log(session) if isinstance(event, Question)]
        with pytest.raises(ThetisError, match="no open question"):
            await opened.client.answer_question(session, asked.id, [Given("1", chose=["red"])])


async def test_notes_are_of_the_conversation_or_of_the_project_and_survive_a_rewrite_and_a_restart(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("remember berth: pier seven")
        await opened.client.wait_idle(session)
        await said(opened, session, "remember for the project style: tests first")
        changed = await opened.client.devkit(
            session, "patch-code", path=PROMPT, old_text="# How to talk", new_text="# Manners")
        assert changed["ok"], changed
        told = words(await said(opened, session, "recall"))
        assert "pier seven" in told and "UTC, turn " in told
    async with gateway(tmp_path) as opened:
        assert "pier seven" in words(await said(opened, session, "recall berth"))
        other = (await opened.client.create(origin="headless")).id
        told = words(await said(opened, other, "recall the project's notes"))
        assert "tests first" in told and f"conversation {session[:8]}" in told
        assert "no note" in words(await said(opened, other, "recall berth"))


async def test_a_read_only_mode_writes_no_note_for_others(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = (await opened.client.create(origin="headless", mode="plan")).id
        assert "read-only" in words(await said(opened, session, "remember for the project style: tests last"))
        assert "tests last" not in words(await said(opened, session, "recall the project's notes"))


def test_a_long_conversation_is_compacted_by_the_agent_and_every_event_stays(world: World) -> None:
    config = world.home / ".config" / "thetis" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(SMALL)
    session = world.events("read big.txt")[0]["session"]
    for _ in range(2):
        world.events("--conversation", session, "read big.txt")
    log = world.log(session)
    spans = [event["body"]["spans"] for event in log if event["kind"] == "compaction"]
    assert spans and [event["seq"] for event in log] == list(range(1, len(log) + 1))
    first, last = spans[0][0]
    hidden = [event for event in log if first <= event["seq"] <= last]
    assert hidden and not [event for event in hidden if event["kind"] == "user"]
    told = answer(world.events("--conversation", session, f"read events {first} to {last}"))
    assert f"[{hidden[0]['seq']}]" in told
    assert "ompact" in world.run("compact", session, "keep the colours").stdout
    assert [event["body"].get("purpose") for event in world.log(session) if event["kind"] == "turn-started"][-1] == "compact"
    assert world.run("doctor", "--conversation", session).returncode == 0
    usage = json.loads(world.run("usage", "--tools", "--json").stdout)
    assert usage["tools"]["calls"]["read"] == 3 and usage["tools"]["all_bytes"] > 0


async def test_compacting_in_the_screens_way(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        await opened.client.compact(session, "keep it")
        await opened.client.wait_idle(session)
        events = await opened.log(session)
        assert [event.purpose for event in events if isinstance(event, TurnStarted)] == ["", "compact"]
        assert "nothing to compact" in [event.detail for event in events if isinstance(event, TurnFinished)][-1]
        assert not [event for event in events if isinstance(event, Compaction)]
