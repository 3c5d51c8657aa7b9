"""The screen is there first; the gateway comes later, fails, goes away, comes back: nothing typed is lost."""

from __future__ import annotations

import asyncio

from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import PeerGone, RemoteError, RootError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import furnished, played
from tests.support.fake_screen import screen
from thetis_tui.widgets.rows.texts import UserRow


class Slow:
    """A gateway that takes its time."""

    def __init__(self, gateway: FakeGateway) -> None:
        self.gateway = gateway
        self.asked = 0
        self.come = asyncio.Event()

    async def __call__(self) -> GatewayClient:
        self.asked += 1
        await self.come.wait()
        return self.gateway.client


async def test_the_first_paint_does_not_wait_for_the_gateway() -> None:
    slow = Slow(FakeGateway())
    async with screen(slow.gateway, connect=slow, wait=False) as s:
        await s.until(lambda: "Ask for something" in s.text())
        assert s.app.state.link == "connecting"
        assert "starting…" in s.text()
        await s.until(lambda: slow.asked == 1, "connecting begins after the paint")
        slow.come.set()
        await s.ready()
        assert "/home/ada/engine" in s.text()
        assert "starting…" not in s.text()


async def test_what_is_typed_and_sent_before_the_gateway_is_there_is_delivered_once_it_is() -> None:
    slow = Slow(FakeGateway())
    async with screen(slow.gateway, connect=slow, wait=False) as s:
        await s.until(lambda: s.desk.prompt.has_focus)
        await s.type("first words")
        await s.pilot.press("enter")
        await s.type("second")
        await s.pilot.press("enter")
        await s.type("and a draft")
        await s.pilot.pause()
        assert "waits until the gateway is ready" in s.text()
        slow.come.set()
        await s.ready()
        await s.until(lambda: len(s.gateway.asked(c.Submit)) == 2)
        assert [ask.text for ask in s.gateway.asked(c.Submit)] == ["first words", "second"]
        assert len(s.gateway.asked(c.CreateConversation)) == 1
        assert s.desk.prompt.text == "and a draft"
        await s.until(lambda: "waits until" not in s.text())
        assert s.transcript().count("first words") == 1


async def test_esc_takes_back_what_has_not_left() -> None:
    slow = Slow(FakeGateway())
    async with screen(slow.gateway, connect=slow, wait=False) as s:
        await s.until(lambda: s.desk.prompt.has_focus)
        await s.send("first")
        await s.send("second")
        await s.type("third")
        await s.until(lambda: "waits until" in s.text())
        await s.pilot.press("escape")
        await s.until(lambda: s.desk.prompt.text == "first\nsecond\nthird")
        slow.come.set()
        await s.ready()
        assert s.gateway.asked(c.Submit) == []
        assert not s.view.query(UserRow)


async def test_a_gateway_that_cannot_start_is_said_with_the_way_out_and_can_be_tried_again() -> None:
    gateway = FakeGateway()
    tries: list[int] = []

    async def connect() -> GatewayClient:
        tries.append(1)
        if len(tries) == 1:
            raise RootError("This directory is not in a git repository.", kind="none", hint="git init makes it one.")
        return gateway.client

    async with screen(gateway, connect=connect, wait=False) as s:
        await s.until(lambda: s.app.state.link == "failed")
        await s.pilot.pause()
        assert "not in a git repository" in s.text()
        assert "git init makes it one." in s.text()
        await s.send("kept")
        await s.pilot.press("ctrl+r")
        await s.ready()
        assert "not in a git repository" not in s.text()
        await s.until(lambda: [ask.text for ask in gateway.asked(c.Submit)] == ["kept"])


async def test_an_operating_system_error_is_no_traceback() -> None:
    async def connect() -> GatewayClient:
        raise PermissionError(13, "Permission denied", "/root/x")

    async with screen(FakeGateway(), connect=connect, wait=False) as s:
        await s.until(lambda: s.app.state.link == "failed")
        await s.pilot.pause()
        assert "Permission denied" in s.text()


async def test_a_gateway_that_goes_away_is_noticed_and_the_log_read_on_when_it_is_back() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    async with screen(gateway, conversation=session) as s:
        gateway.vanish()
        await s.until(lambda: "The gateway is gone." in s.text())
        assert s.app.state.link == "reconnecting"
        assert "reconnecting…" in s.text()
        await s.send("lost?")
        gateway.mute = {c.EventStored}
        gateway.store(session, e.User("meanwhile"))
        gateway.mute = set()
        gateway.gone = False
        await s.ready()
        await s.until(lambda: "meanwhile" in s.transcript())
        await s.until(lambda: [ask.text for ask in gateway.asked(c.Submit)] == ["lost?"], "the words arrived")
        assert s.transcript().count("lost?") == 1
        assert "gone" not in s.text()


async def test_words_on_their_way_when_the_gateway_goes_arrive_once() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    async with screen(gateway, conversation=session) as s:
        gateway.errors[c.Submit] = PeerGone("the gateway is gone")
        await s.send("once")
        await s.until(lambda: gateway.asked(c.Submit))
        await s.until(lambda: s.app.state.link == "ready", "it is back by itself")
        del gateway.errors[c.Submit]
        await s.until(lambda: not s.app.speech.outbox.waiting)
        assert len({ask.event_id for ask in gateway.asked(c.Submit)}) == 1
        assert s.transcript().count("once") == 1
        assert s.desk.prompt.text == ""


async def test_a_gateway_that_only_stops_to_answer_is_noticed_at_the_next_look() -> None:
    gateway = FakeGateway()
    async with screen(gateway) as s:
        gateway.gone = True
        await s.app.door.look()
        await s.until(lambda: s.app.state.link == "reconnecting")
        attempts = 0

        async def connect() -> GatewayClient:
            nonlocal attempts
            attempts += 1
            raise OSError("not yet")

        s.app.door._connect = connect
        await s.until(lambda: attempts >= 2, "it tries by itself, more than once")
        await s.until(lambda: "not yet." in s.text().lower())
        s.app.door._connect = gateway.connect
        gateway.gone = False
        await s.pilot.press("ctrl+r")
        await s.ready()


async def test_an_error_of_a_request_is_a_note_with_its_hint_and_the_words_come_back() -> None:
    gateway = FakeGateway()
    gateway.errors[c.Submit] = RemoteError("No space is left for [the log].", hint="Free some.")
    async with screen(gateway) as s:
        await s.send("hello")
        await s.until(lambda: s.toasts())
        assert s.toasts() == ["No space is left for [the log].\nFree some."]
        assert s.desk.prompt.text == "hello"
        assert not s.view.query(UserRow)
        assert s.app.state.link == "ready"


async def test_words_that_failed_while_others_are_typed_stand_above_them() -> None:
    gateway = FakeGateway()
    gateway.errors[c.Submit] = RemoteError("No.")
    gateway.gates[c.Submit] = asyncio.Event()
    async with screen(gateway) as s:
        await s.send("first")
        await s.type("next")
        gateway.gates[c.Submit].set()
        await s.until(lambda: s.toasts())
        assert s.desk.prompt.text == "first\nnext"


async def test_the_asked_for_conversation_is_opened() -> None:
    gateway = furnished()
    session = gateway.make("The wanted one", branch="conv/w")
    played(gateway, session, "make it so")
    async with screen(gateway, conversation=session[:6]) as s:
        await s.until(lambda: "make it so" in s.transcript())
        assert s.app.state.current == session


async def test_a_conversation_that_does_not_exist_is_said() -> None:
    async with screen(furnished(), conversation="nope") as s:
        await s.until(lambda: s.toasts())
        assert "no conversation nope" in s.toasts()[0]
        assert s.app.state.current == ""


async def test_progress_shows_in_one_line_until_it_is_done() -> None:
    async with screen(FakeGateway()) as s:
        s.gateway.tell(c.Progress(what="Checking out 20,000 files", done=5, total=20))
        await s.until(lambda: "Checking out 20,000 files" in s.text())
        assert "25%" in s.text()
        s.gateway.tell(c.Progress(what="Checking out 20,000 files", done=20, total=20))
        await s.until(lambda: "Checking out" not in s.text())


async def test_notices_are_shown_once() -> None:
    gateway = FakeGateway(notices=["Guests of this project are not trusted."])
    async with screen(gateway) as s:
        await s.until(lambda: s.toasts())
        gateway.tell(c.Notice(level="warn", message="The disk is nearly full.", hint="Free some space."))
        await s.until(lambda: len(s.toasts()) == 2)
        assert s.toasts() == ["Guests of this project are not trusted.", "The disk is nearly full.\nFree some space."]


async def test_what_is_typed_early_is_for_the_conversation_that_was_named() -> None:
    slow = Slow(furnished())
    session = slow.gateway.make("the one that was named", branch="conv/abcd0123")
    played(slow.gateway, session, "Earlier words")
    async with screen(slow.gateway, connect=slow, conversation=session[:6], wait=False) as s:
        await s.until(lambda: s.desk.prompt.has_focus)
        await s.type("early words")
        await s.pilot.press("enter")
        await s.type("and a draft")
        await s.pilot.pause()
        slow.come.set()
        await s.ready()
        await s.until(lambda: bool(s.gateway.asked(c.Submit)))
        assert [(ask.session, ask.text) for ask in s.gateway.asked(c.Submit)] == [(session, "early words")]
        assert not s.gateway.asked(c.CreateConversation)
        await s.until(lambda: "Earlier words" in s.transcript() and s.transcript().count("early words") == 1)
        assert s.desk.prompt.text == "and a draft"
