"""Conversations: listed, opened, switched, named, put away, found again."""

from __future__ import annotations

import asyncio

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import furnished, played
from tests.support.fake_screen import Shown, screen
from thetis_tui.widgets.sidebar import Sidebar


def titles(s: Shown) -> list[str]:
    return [entry.title for entry in s.desk.sidebar.entries]


async def test_the_list_says_title_state_branch_and_age() -> None:
    gateway = furnished()
    async with screen(gateway, size=(120, 40)) as s:
        text = s.text()
        assert "Rename the configuration" in text
        assert "interrupted · conv/2c07aa91" in text
        assert "日本語のドキュメント" in text
        assert "● Why is start-up slow" in text


async def test_choosing_from_the_list_opens_a_conversation() -> None:
    gateway = furnished()
    session = gateway.make("Pick me", branch="conv/p")
    played(gateway, session, "the question")
    async with screen(gateway) as s:
        s.desk.sidebar.list.focus()
        await s.pilot.press("down", "enter")
        await s.until(lambda: "the question" in s.transcript())
        assert [m.session for m in s.got(Sidebar.Chosen)] == [session]
        assert s.desk.prompt.has_focus


async def test_a_new_conversation_exists_only_with_its_first_message() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        await s.desk.open(next(iter(gateway.lines)))
        await s.pilot.press("ctrl+n")
        await s.until(lambda: s.app.state.current == "")
        assert "Try" in s.text()
        assert gateway.asked(c.CreateConversation) == []
        await s.send("begin")
        await s.until(lambda: s.app.state.current != "")
        assert len(gateway.asked(c.CreateConversation)) == 1
        assert "begin" in titles(s)[0]


async def test_the_next_new_conversation_is_empty_again() -> None:
    async with screen(FakeGateway()) as s:
        await s.send("the first")
        await s.until(lambda: s.app.state.current != "")
        first = s.app.state.current
        await s.pilot.press("ctrl+n")
        await s.until(lambda: s.app.state.current == "")
        assert "the first" not in s.transcript()
        await s.send("the second")
        await s.until(lambda: s.app.state.current not in ("", first))
        await s.until(lambda: "the second" in s.transcript())
        assert "the first" not in s.transcript()


async def test_keys_go_to_the_neighbours_in_the_list() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        order = [entry.session for entry in s.desk.sidebar.entries]
        await s.pilot.press("ctrl+pagedown")
        await s.until(lambda: s.app.state.current == order[0])
        await s.pilot.press("ctrl+pagedown")
        await s.until(lambda: s.app.state.current == order[1])
        await s.pilot.press("ctrl+pageup")
        await s.until(lambda: s.app.state.current == order[0])


async def test_the_switcher_finds_by_a_part_of_the_title() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        await s.pilot.press("ctrl+g")
        await s.until(lambda: "Go to…" in s.text() or s.app.screen is not s.desk)
        await s.pilot.press(*"hatch")
        await s.until(lambda: "Port the build" in s.text())
        await s.pilot.pause(0.3)
        await s.pilot.press("enter")
        await s.until(lambda: s.app.state.conversation is not None)
        assert s.app.state.conversation.title.startswith("Port the build")


async def test_a_title_of_anybody_is_text_in_the_switcher_and_the_palette() -> None:
    gateway = FakeGateway()
    gateway.make("[/red] [@click=app.quit]go[/] ]]", branch="conv/[b]")
    async with screen(gateway) as s:
        await s.pilot.press("ctrl+g")
        await s.until(lambda: "[@click=app.quit]go[/]" in s.text())
        await s.pilot.press(*"go")
        await s.pilot.pause(0.3)
        assert "[@click=app.quit]go[/]" in s.text()


async def test_renaming() -> None:
    gateway = furnished()
    session = gateway.make("old name", branch="conv/r")
    async with screen(gateway, conversation=session) as s:
        await s.send("/title")
        await s.until(lambda: s.app.screen is not s.desk)
        await s.pilot.press(*"better", "enter")
        await s.until(lambda: gateway.asked(c.ChangeSetting))
        assert gateway.asked(c.ChangeSetting)[0] == c.ChangeSetting(session=session, name="title", value="better")
        await s.until(lambda: "better" in titles(s))
        await s.send("/title  in one go ")
        await s.until(lambda: "in one go" in titles(s))


async def test_renaming_can_be_left() -> None:
    gateway = furnished()
    session = gateway.make("old name", branch="conv/r")
    async with screen(gateway, conversation=session) as s:
        await s.send("/title")
        await s.until(lambda: s.app.screen is not s.desk)
        await s.pilot.press("x", "escape")
        await s.until(lambda: s.app.screen is s.desk)
        assert gateway.asked(c.ChangeSetting) == []


async def test_archiving_takes_it_out_of_the_list() -> None:
    gateway = furnished()
    session = gateway.make("done with", branch="conv/a")
    async with screen(gateway, conversation=session) as s:
        await s.send("/archive")
        await s.until(lambda: s.app.state.current == "")
        await s.until(lambda: "done with" not in titles(s))
        assert gateway.lines[session].archived


async def test_an_end_elsewhere_is_marked_until_looked_at() -> None:
    gateway = furnished()
    session = gateway.make("elsewhere", branch="conv/e")
    async with screen(gateway) as s:
        turn = gateway.begin(session)
        await s.until(lambda: s.desk.sidebar.entries[0].state == "running")
        turn.finish()
        await s.until(lambda: s.desk.sidebar.entries[0].unread)
        await s.desk.open(session)
        await s.until(lambda: not s.desk.sidebar.entries[0].unread)


async def test_a_thousand_conversations_are_no_thousand_widgets() -> None:
    gateway = FakeGateway()
    for number in range(1000):
        gateway.make(f"number {number}", branch=f"conv/{number}")
    async with screen(gateway) as s:
        await s.until(lambda: "number 999" in s.text())
        assert len(s.app.query("*")) < 60


async def test_the_list_is_away_on_a_narrow_screen_and_comes_when_asked() -> None:
    gateway = furnished()
    async with screen(gateway, size=(80, 24)) as s:
        assert not s.desk.sidebar.display
        await s.pilot.press("ctrl+b")
        await s.until(lambda: s.desk.sidebar.display and s.desk.sidebar.list.has_focus)
        await s.pilot.press("escape")
        await s.until(lambda: not s.desk.sidebar.display and s.desk.prompt.has_focus)
        await s.pilot.press("ctrl+b", "down", "enter")
        await s.until(lambda: s.app.state.current != "" and not s.desk.sidebar.display)


async def test_the_list_can_be_dismissed_on_a_wide_one() -> None:
    async with screen(furnished(), size=(120, 30)) as s:
        assert s.desk.sidebar.display
        await s.pilot.press("ctrl+b")
        await s.until(lambda: not s.desk.sidebar.display and s.desk.prompt.has_focus)
        await s.pilot.resize_terminal(80, 24)
        await s.pilot.resize_terminal(120, 30)
        await s.calm()
        assert not s.desk.sidebar.display


async def test_opening_while_the_gateway_is_slow_can_be_overtaken() -> None:
    gateway = furnished()
    one, two = list(gateway.lines)[:2]
    gateway.store(one, e.User("of one"))
    gateway.store(two, e.User("of two"))
    async with screen(gateway) as s:
        gateway.gates[c.GetConversation] = asyncio.Event()
        s.app.show(one)
        s.app.show(two)
        await s.pilot.pause()
        gateway.gates.pop(c.GetConversation).set()
        await s.until(lambda: s.app.state.current == two and "of two" in s.transcript())
        assert "of one" not in s.transcript()
