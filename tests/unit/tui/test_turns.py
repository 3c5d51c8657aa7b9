"""A running turn: stopped at once, nudged, resumed, left."""

from __future__ import annotations

import asyncio

from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.screens.dialog import Dialog
from thetis_tui.widgets.rows.texts import UserRow


async def running(s: Shown) -> str:
    """A turn that runs until it is stopped; its session."""
    await s.send("go")
    await s.until(lambda: s.app.state.turn is not None)
    await s.until(lambda: "esc stops" in s.text())
    return s.app.state.current


async def test_esc_stops_at_once_from_anywhere_and_the_draft_stays() -> None:
    async with screen(FakeGateway()) as s:
        session = await running(s)
        await s.type("half a")
        s.desk.sidebar.list.focus()
        await s.pilot.press("escape")
        await s.until(lambda: s.gateway.asked(c.Stop))
        assert s.gateway.asked(c.Stop)[0].session == session
        await s.until(lambda: "stopped by you" in s.transcript())
        assert s.desk.prompt.text == "half a"
        await s.until(lambda: "esc stops" not in s.text())


async def test_esc_shows_that_it_stops_before_the_gateway_has_answered() -> None:
    async with screen(FakeGateway()) as s:
        await running(s)
        s.gateway.gates[c.Stop] = asyncio.Event()
        await s.pilot.press("escape")
        await s.until(lambda: "stopping…" in s.text())


async def test_esc_without_a_turn_stops_nothing_and_goes_back_to_the_prompt() -> None:
    async with screen(FakeGateway()) as s:
        s.desk.sidebar.list.focus()
        await s.pilot.press("escape")
        await s.until(lambda: s.desk.prompt.has_focus)
        assert s.gateway.asked(c.Stop) == []


async def test_words_while_it_works_are_a_nudge_and_shown_as_one() -> None:
    async with screen(FakeGateway()) as s:
        session = await running(s)
        assert "enter steers · tab queues" in s.text()
        await s.send("use the other parser")
        await s.until(lambda: any(event.kind == "nudge" for event in s.gateway.logs[session]))
        await s.until(lambda: "sent while it was working" in s.transcript() or "while it works" in s.transcript())
        await s.until(lambda: not s.view.pending)
        rows = [row for row in s.view.query(UserRow) if row.text == "use the other parser"]
        assert len(rows) == 1
        assert rows[0].has_class("-nudge")


async def test_an_interrupted_turn_is_offered_and_resumed_by_an_empty_enter() -> None:
    gateway = FakeGateway()
    session = gateway.make("cut short", branch="conv/i", state="interrupted")
    gateway.store(session, e.User("do it"))
    async with screen(gateway, conversation=session) as s:
        await s.until(lambda: "Enter resumes it" in s.text())
        assert "interrupted" in s.text()
        await s.pilot.press("enter")
        await s.until(lambda: gateway.asked(c.Resume))
        await s.until(lambda: s.app.state.turn is not None)
        assert gateway.asked(c.Submit) == []


async def test_a_resume_that_fails_is_said() -> None:
    gateway = FakeGateway()
    session = gateway.make("cut short", branch="conv/i", state="interrupted")
    gateway.errors[c.Resume] = RemoteError("The worktree is gone.", hint="Start a new conversation.")
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("ctrl+r")
        await s.until(lambda: s.toasts())
        assert s.toasts()[0].startswith("The worktree is gone.")


async def test_quitting_with_a_live_turn_asks_and_keeping_looking_keeps_it() -> None:
    async with screen(FakeGateway()) as s:
        await running(s)
        await s.pilot.press("ctrl+q")
        await s.until(lambda: isinstance(s.app.screen, Dialog))
        await s.until(lambda: s.app.screen.armed)
        await s.pilot.press("k")
        await s.until(lambda: s.app.screen is s.desk)
        assert s.gateway.asked(c.Stop) == []
        assert s.app.return_code is None


async def test_quitting_with_a_live_turn_can_stop_it() -> None:
    async with screen(FakeGateway()) as s:
        session = await running(s)
        await s.pilot.press("ctrl+q")
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed)
        await s.pilot.press("s")
        await s.until(lambda: s.app.return_code == 0)
        assert [ask.session for ask in s.gateway.asked(c.Stop)] == [session]


async def test_quitting_without_a_turn_asks_nothing() -> None:
    async with screen(FakeGateway()) as s:
        await s.pilot.press("ctrl+q")
        await s.until(lambda: s.app.return_code == 0)


async def test_uncommitted_changes_are_offered_and_left_out_unless_chosen() -> None:
    async with screen(FakeGateway(uncommitted=3)) as s:
        assert "3 changed files not included" in s.text()
        await s.send("without")
        await s.until(lambda: s.gateway.asked(c.Submit))
        assert s.gateway.asked(c.Submit)[0].with_changes is False
        await s.until(lambda: "changed files" not in s.text())


async def test_uncommitted_changes_can_be_included_without_a_question_in_the_way() -> None:
    async with screen(FakeGateway(uncommitted=1)) as s:
        await s.type("with")
        await s.pilot.press("ctrl+t")
        await s.until(lambda: "1 changed file included" in s.text())
        assert s.desk.prompt.text == "with"
        await s.pilot.press("enter")
        await s.until(lambda: s.gateway.asked(c.Submit))
        assert s.gateway.asked(c.Submit)[0].with_changes is True
        await s.send("second")
        await s.until(lambda: len(s.gateway.asked(c.Submit)) == 2)
        assert s.gateway.asked(c.Submit)[1].with_changes is False


async def test_the_mode_goes_along_and_a_read_only_one_is_said() -> None:
    async with screen(FakeGateway()) as s:
        await s.pilot.press("shift+tab")
        await s.until(lambda: "plan, read-only" in s.text())
        await s.send("look only")
        await s.until(lambda: s.gateway.asked(c.CreateConversation))
        assert s.gateway.asked(c.CreateConversation)[0].mode == "plan"
        await s.until(lambda: s.gateway.turns)
        s.gateway.turns[s.app.state.current].finish()
        await s.pilot.press("shift+tab")
        await s.until(lambda: s.gateway.asked(c.ChangeSetting))
        await s.until(lambda: "read-only" not in s.text())
