"""Words for later: Tab queues, what waits is shown, Up takes it back, a stop keeps it."""

from __future__ import annotations

import asyncio

from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol import queueing as q

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen


async def busy(s: Shown) -> str:
    """A turn that runs until it is stopped; its session."""
    await s.send("go")
    await s.until(lambda: "tab queues" in s.text())
    return s.app.state.current


async def queue(s: Shown, *texts: str) -> None:
    for text in texts:
        s.desk.prompt.put(text)
        await s.until(lambda: s.desk.prompt.queues)
        await s.pilot.press("tab")
        await s.until(lambda text=text: text in shown(s) and all(item.id for item in s.desk.composer.queue.items))


def shown(s: Shown) -> list[str]:
    """The strip above the prompt."""
    return [item.text for item in s.desk.composer.queue.items] if s.desk.composer.queue.display else []


async def test_tab_queues_and_enter_steers_while_a_turn_runs() -> None:
    async with screen(FakeGateway()) as s:
        session = await busy(s)
        await queue(s, "then the tests")
        assert s.desk.prompt.text == ""
        await s.send("with tabs")
        await s.until(lambda: any(event.kind == "nudge" for event in s.gateway.logs[session]))
        assert [ask.later for ask in s.gateway.asked(c.Submit)] == [False, True, False]
        assert shown(s) == ["then the tests"]
        await s.until(lambda: "1 then the tests" in s.text() and "↑ edits" in s.text())


async def test_what_waits_is_said_when_the_turn_ends_and_leaves_the_strip() -> None:
    async with screen(FakeGateway()) as s:
        session = await busy(s)
        await queue(s, "one", "two")
        s.gateway.turns[session].finish()
        await s.until(lambda: shown(s) == ["two"])
        await s.until(lambda: "one" in s.transcript())


async def test_after_a_stop_it_waits_and_an_empty_enter_says_it() -> None:
    async with screen(FakeGateway()) as s:
        session = await busy(s)
        await queue(s, "one", "two")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.state.turn is None)
        await s.until(lambda: "waits for you" in s.text() and "enter says the first that waits" in s.text())
        assert shown(s) == ["one", "two"] and s.gateway.asked(q.SayQueued) == []
        await s.pilot.press("enter")
        await s.until(lambda: shown(s) == ["two"])
        assert session in s.gateway.turns


async def test_up_takes_the_last_one_back_and_tab_puts_it_in_its_place() -> None:
    async with screen(FakeGateway()) as s:
        session = await busy(s)
        await queue(s, "one", "two")
        await s.pilot.press("up")
        await s.until(lambda: s.desk.prompt.text == "two")
        await s.until(lambda: shown(s) == ["one"] and "tab puts it back" in s.text())
        await s.type(" and a half")
        await s.pilot.press("tab")
        await s.until(lambda: shown(s) == ["one", "two and a half"])
        assert [ask.text for ask in s.gateway.asked(q.EditQueued)] == ["two and a half"]
        assert len(s.gateway.asked(c.Submit)) == 3, "it is not a new message"
        await s.pilot.press("up")
        await s.until(lambda: s.desk.prompt.text == "two and a half")
        await s.pilot.press("enter")
        await s.until(lambda: any(event.kind == "nudge" for event in s.gateway.logs[session]))
        await queue(s, "three")
        assert shown(s) == ["one", "three"]


async def test_words_that_were_begun_with_meanwhile_come_back_into_the_prompt() -> None:
    async with screen(FakeGateway()) as s:
        session = await busy(s)
        await queue(s, "one")
        await s.pilot.press("up")
        await s.until(lambda: s.desk.prompt.text == "one" and s.app.state.queues.in_hand(session))
        s.gateway.queues[session].clear()
        await s.pilot.press("tab")
        await s.until(lambda: s.toasts())
        assert s.desk.prompt.text == "one"


async def test_one_that_cannot_be_taken_back_is_said() -> None:
    async with screen(FakeGateway()) as s:
        await busy(s)
        await queue(s, "one")
        s.gateway.errors[q.RecallQueued] = RemoteError("This message is not in the queue any more.", code="not-queued")
        await s.pilot.press("up")
        await s.until(lambda: s.toasts())
        assert s.desk.prompt.text == ""


async def test_the_queue_is_there_again_after_a_restart() -> None:
    gateway = FakeGateway()
    session = gateway.make("talk", branch="conv/t")
    gateway.store(session, e.User("do it"))
    gateway.queues[session] = [q.QueuedWords("a", "later [bold]this[/]\x1b[31m\nand that")]
    async with screen(gateway, conversation=session) as s:
        await s.until(lambda: "later [bold]this[/]" in s.text(), "shown literally, on one line")
        assert s.gateway.asked(q.SayQueued) == [], "nothing is said by itself"
        await s.pilot.press("up")
        await s.until(lambda: s.desk.prompt.text.startswith("later [bold]this"))


async def test_words_on_their_way_are_shown_and_come_back_when_they_do_not_arrive() -> None:
    async with screen(FakeGateway()) as s:
        await busy(s)
        s.gateway.gates[c.Submit] = asyncio.Event()
        s.desk.prompt.put("soon")
        await s.pilot.press("tab")
        await s.until(lambda: shown(s) == ["soon"])
        s.gateway.errors[c.Submit] = RemoteError("The disk is nearly full.", code="store-full")
        s.gateway.gates.pop(c.Submit).set()
        await s.until(lambda: s.desk.prompt.text == "soon" and shown(s) == [], "the words come back, they are not lost")


async def test_an_answer_from_before_the_news_is_not_taken_for_the_queue() -> None:
    async with screen(FakeGateway()) as s:
        session = await busy(s)
        await queue(s, "one")
        answer, asked, may = s.gateway.client.queue, asyncio.Event(), asyncio.Event()

        async def late(session: str) -> list[q.QueuedWords]:
            words = await answer(session)
            asked.set()
            await may.wait()
            return words

        s.gateway.client.queue = late  # type: ignore[method-assign]
        s.app.speech.learn_queue(session)
        await asked.wait()
        await queue(s, "two")
        s.gateway.client.queue = answer  # type: ignore[method-assign]
        may.set()
        await s.calm()
        assert shown(s) == ["one", "two"]


async def test_many_that_wait_take_three_lines() -> None:
    async with screen(FakeGateway()) as s:
        await busy(s)
        await queue(s, *(f"message {n}" for n in range(6)))
        assert s.desk.composer.queue.size.height == 3
        assert "+3 more" in s.text()
