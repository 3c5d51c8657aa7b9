"""Words while a turn runs: a nudge or the queue; said in order, once, whatever happens in the same moment."""

from __future__ import annotations

import asyncio
import base64
import random
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol.events import Nudge, Queued, QueueRecalled, TurnFinished, TurnStarted, User

from tests.support.gateways import Opened, gateway

pytestmark = pytest.mark.runtimes
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def said(log: list[Any]) -> list[str]:
    """Every word of the person in the order a model reads them."""
    return [body.text for body in log if isinstance(body, User | Nudge)]


async def busy(g: Opened, ms: int = 60_000) -> str:
    session = await g.start(f"rehearse: slow {ms} ms")
    await g.until_event(TurnStarted)
    await g.eventually(lambda: bool(g.gateway.models._streams))
    return session


async def waits(g: Opened, session: str) -> list[str]:
    return [words.text for words in await g.client.queue(session)]


async def test_queued_words_are_said_when_the_turn_has_ended_by_itself(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await busy(g, 1500)
        first = await g.client.submit(session, "list", later=True)
        assert first.how == "queue"
        second = await g.client.submit(session, "read README.md", later=True, event_id="e2")
        assert (await g.client.submit(session, "read README.md", later=True, event_id="e2")).seq == second.seq
        assert await waits(g, session) == ["list", "read README.md"]
        await g.until_event(TurnFinished, 3)
        await g.client.wait_idle(session)
        log = await g.log(session)
        assert said(log) == ["rehearse: slow 1500 ms", "list", "read README.md"]
        assert [b.stopped_by for b in log if isinstance(b, TurnFinished)] == ["stop"] * 3
        assert await waits(g, session) == []
        with pytest.raises(RemoteError, match="not in the queue any more"):
            await g.client.recall_queued(session, "e2")


async def test_after_a_stop_the_queue_is_kept_and_not_said(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await busy(g)
        await g.client.submit(session, "list", later=True)
        await g.client.submit(session, "read README.md", later=True)
        await g.client.stop(session)
        await g.client.wait_idle(session)
        assert await waits(g, session) == ["list", "read README.md"]
        assert said(await g.log(session)) == ["rehearse: slow 60000 ms"]
        assert await g.client.submit(session, "search x", later=True, event_id="e3")
        assert await waits(g, session) == ["list", "read README.md", "search x"], "it does not overtake what waits"
        assert await g.client.say_queued(session) is True
        await g.client.wait_idle(session)
        assert said(await g.log(session))[1:] == ["list", "read README.md", "search x"]
        assert await g.client.say_queued(session) is False


async def test_a_turn_that_fails_does_not_spend_the_queue(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await busy(g)
        await g.client.submit(session, "rehearse: fail", later=True)
        await g.client.submit(session, "list", later=True)
        await g.client.stop(session)
        await g.client.wait_idle(session)
        await g.client.say_queued(session)
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "model-error"
        assert await waits(g, session) == ["list"]


async def test_words_are_recalled_changed_and_put_back(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await busy(g)
        for name in ("one", "two", "three"):
            await g.client.submit(session, name, later=True, event_id=name)
        assert await g.client.recall_queued(session, "two") == "two"
        assert await g.client.recall_queued(session, "two") == "two"
        assert await waits(g, session) == ["one", "three"]
        await g.client.edit_queued(session, "two", "zwei")
        assert await waits(g, session) == ["one", "zwei", "three"]
        await g.client.edit_queued(session, "three", "drei")
        assert await waits(g, session) == ["one", "zwei", "drei"]
        with pytest.raises(RemoteError, match="nothing to say"):
            await g.client.edit_queued(session, "two", " ")
        log = await g.log(session)
        assert sum(isinstance(b, QueueRecalled) for b in log) == 1
        assert [b.text for b in log if isinstance(b, Queued)] == ["one", "two", "three"], "what was said is never lost"
        await g.client.stop(session)


async def test_the_queue_survives_the_gateway_and_nothing_of_it_is_said_by_itself(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await busy(g)
        await g.client.submit(session, "list", later=True, event_id="one")
        await g.client.submit(session, "read README.md", later=True, event_id="two")
        await g.client.recall_queued(session, "two")
    async with gateway(tmp_path) as g:
        await g.client.subscribe(session)
        assert await waits(g, session) == ["list"]
        assert len(said(await g.log(session))) == 1
        await g.client.edit_queued(session, "two", "read README.md, all of it")
        assert await waits(g, session) == ["list", "read README.md, all of it"]
        await g.client.say_queued(session)
        await g.until_event(TurnFinished, 2)
        await g.client.wait_idle(session)
        assert said(await g.log(session))[1:] == ["list", "read README.md, all of it"]


async def test_a_headless_run_leaves_the_queue_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await busy(g)
        await g.client.submit(session, "read README.md", later=True)
        await g.client.stop(session)
        await g.client.wait_idle(session)
        await g.client.submit(session, "list", alone=True)
        await g.client.wait_idle(session)
        assert await waits(g, session) == ["read README.md"]


async def test_pictures_wait_with_their_words(tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(DOT)
    async with gateway(tmp_path / "base") as g:
        session = await busy(g)
        kept = await g.client.attach(str(picture))
        await g.client.submit(session, "list", later=True, attachments=[kept])
        await g.client.stop(session)
        await g.client.wait_idle(session)
        await g.client.say_queued(session)
        await g.client.wait_idle(session)
        [said_with] = [b for b in await g.log(session) if isinstance(b, User) and b.queued]
        assert said_with.attachments == [kept]


async def test_words_in_the_moment_a_turn_ends(tmp_path: Path) -> None:
    """Every word stands in the log once, verbatim and in the order it was handed over, whichever moment it hit: the end of
    a turn, its commit, the beginning of the next. Nothing is left unread, nothing runs twice."""
    await storm(tmp_path, rounds=8)


@pytest.mark.slow
async def test_words_in_any_moment_a_turn_ends(tmp_path: Path) -> None:
    await storm(tmp_path, rounds=120)


async def storm(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(7)
    async with gateway(tmp_path) as g:
        session = await g.start("list")
        spoken = ["list"]
        tasks: list[asyncio.Task[Any]] = []
        for number in range(rounds):
            ends = len([t for t in g.heard if getattr(getattr(t, "event", None), "kind", "") == "turn-finished"])
            await g.until_event(TurnFinished if chance.random() < 0.5 else TurnStarted, ends + 1)
            for _ in range(chance.randrange(20)):
                await asyncio.sleep(0)
            for letter in "abc"[: chance.randrange(1, 4)]:
                words = f"  list {number}{letter} \u00e9\n\n"
                spoken.append(words)
                tasks.append(asyncio.create_task(g.client.submit(session, words, later=chance.random() < 0.3)))
        answers = await asyncio.gather(*tasks)
        await g.client.wait_idle(session)
        log = await g.log(session) if rounds < 50 else await whole(g, session)
        heard = said(log)
        assert sorted(heard) == sorted(spoken), "each once, verbatim"
        order = [
            b.text
            for b in log
            if isinstance(b, Queued) or (isinstance(b, User | Nudge) and not getattr(b, "queued", ""))
        ]
        assert order == spoken, "in the order they were handed over"
        queued = [b.text for b in log if isinstance(b, Queued)]
        assert [b.text for b in log if isinstance(b, User) and b.queued] == queued
        assert len(queued) == sum(answer.how == "queue" for answer in answers)
        state = await g.gateway.log.state(session)
        assert not state.queue and not state.unread_nudges and not state.interrupted
        starts = [b.turn for b in log if isinstance(b, TurnStarted)]
        assert [b.turn for b in log if isinstance(b, TurnFinished)] == starts


async def whole(g: Opened, session: str) -> list[Any]:
    bodies: list[Any] = []
    after = 0
    while page := (await g.client.read(session, after, 1000)).events:
        bodies += [event.body for event in page]
        after = page[-1].seq
    return bodies
