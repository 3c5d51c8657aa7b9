"""SIGKILL while a conversation is made smaller: nothing of it is lost, one wish makes it smaller once, and what goes on after
that is what was cut and nothing else. Points of `thetis_kernel.crash` whose scenario needs a conversation worth it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.protocol.events import Assistant, Body, Compaction, TurnFinished, TurnStarted

from tests.support.gateways import gateway
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes

BIG = {"README.md": "hello\n", "big.txt": "".join(f"line {n} with some words in it\n" for n in range(900))}
KEEP = "keep_head = 2\nkeep_tail = 2\n"
SMALL = f"[context]\nthreshold_percent = 5\ntarget_percent = 3\n{KEEP}"
ASKED = (
    "compact.asked",
    "stream.received",
    "stream.logged",
    "compaction.summed",
    "compaction.logged",
    "gateway.turn-end",
)
"""A person's wish: before its turn, with the summary at hand but not its price, with its price but not the words, with the words
in the worker (which alone dies), with the record made, with all done but the end."""
GROWN = ("compaction.summed", "compaction.logged")
OFTEN = ("stream.logged", "compaction.logged")


def of(log: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in log if event["kind"] == kind]


def points(names: tuple[str, ...]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.slow]) for name in names]


def grown(tmp_path: Path, config: str) -> tuple[World, str]:
    """A world, and a conversation in it that has something to shed."""
    world = World(tmp_path)
    world.make_repository(BIG)
    settings = world.home / ".config" / "thetis" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(config)
    session: str = world.events("read big.txt")[0]["session"]
    world.events("--conversation", session, "read big.txt")
    return world, session


def whole(world: World, session: str, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What holds whatever died: the log goes on from what it was, each turn has one end, nobody's words are summed up."""
    log = world.log(session)
    assert log[: len(before)] == before, "what was durable still is"
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    starts, ends = of(log, "turn-started"), of(log, "turn-finished")
    assert Counter(body["turn"] for body in starts) == Counter(body["turn"] for body in ends)
    for body in of(log, "compaction"):
        hidden = [event for event in log if any(first <= event["seq"] <= last for first, last in body["spans"])]
        assert hidden and not [event for event in hidden if event["kind"] == "user"]
    return log


@pytest.mark.parametrize("point", points(ASKED))
def test_killed_while_a_person_has_it_compacted(tmp_path: Path, point: str) -> None:
    world, session = grown(tmp_path, f"[context]\n{KEEP}")
    before, trace = world.log(session), world.base / "trace"
    world.run("compact", session, "keep the colours", check=False, THETIS_CRASH=point, THETIS_CRASH_TRACE=str(trace))
    assert point in trace.read_text().split(), "the scenario reaches the point"
    world.run("ls")  # the next start closes what was left
    log = whole(world, session, before)
    assert len(of(log, "compaction")) <= 1 and len(of(log, "user")) == 2
    assert not of(log[len(before) :], "assistant"), "nobody asked a model to go on"
    world.events("--conversation", session, "list")  # new words: the wish is carried out before they are answered
    log = whole(world, session, before)
    assert len(of(log, "compaction")) == 1, "carried out once"
    assert len(of(log, "user")) == 3 and of(log, "turn-finished")[-1]["stopped_by"] == "stop"
    assert world.run("doctor", "--conversation", session).returncode == 0


@pytest.mark.parametrize("point", points(GROWN))
def test_killed_while_it_compacts_by_itself(tmp_path: Path, point: str) -> None:
    world, session = grown(tmp_path, SMALL)
    before, trace = world.log(session), world.base / "trace"
    world.run(
        "run", "--conversation", session, "read big.txt", check=False, THETIS_CRASH=point, THETIS_CRASH_TRACE=str(trace)
    )
    assert point in trace.read_text().split()
    world.run("ls")
    log = whole(world, session, before)
    assert len(of(log, "user")) == 3, "what was said is said once"
    answered = world.events("--conversation", session, "list")
    assert of(answered, "turn-finished")[-1]["stopped_by"] == "stop"
    log = whole(world, session, before)
    records = [str(body["spans"]) for body in of(log, "compaction")]
    assert records and len(records) == len(set(records)), "nothing is summed up twice"
    assert world.run("doctor", "--conversation", session).returncode == 0


async def test_a_wish_whose_worker_died_is_gone_on_with_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that only compacts is resumed as one: it must not have the model go on with what nobody asked for."""
    (tmp_path / "none.toml").write_text(f"[context]\n{KEEP}")
    monkeypatch.setenv("THETIS_CRASH", "compaction.summed")  # for the conversation's first worker
    async with gateway(tmp_path, BIG) as opened:
        session = await opened.start("read big.txt")
        await opened.client.wait_idle(session)
        await opened.client.submit(session, "read big.txt")
        await opened.client.wait_idle(session)

        async def since(count: int) -> list[Body]:
            return list((await opened.log(session))[count:])

        before = len(await opened.log(session))
        await opened.client.compact(session, "keep the colours")
        await opened.client.wait_idle(session)
        cut = await since(before)
        assert [body.stopped_by for body in cut if isinstance(body, TurnFinished)] == ["restarted"]
        assert (await opened.client.conversation(session)).state == "interrupted"
        monkeypatch.delenv("THETIS_CRASH")
        assert await opened.client.resume(session)
        await opened.client.wait_idle(session)
        after = await since(before)
        assert [body.purpose for body in after if isinstance(body, TurnStarted)] == ["compact", "compact"]
        assert len([body for body in after if isinstance(body, Compaction)]) == 1
        assert not [body for body in after if isinstance(body, Assistant)]
        assert (await opened.client.conversation(session)).state == "idle"
