"""The form of consent: shown whole and plainly, answered on purpose, put off, answered elsewhere."""

from __future__ import annotations

import time
from typing import Any

import pytest
from thetis_kernel.errors import UsageError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.approvals import Part, shown

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui import asking
from thetis_tui.screens import dialog
from thetis_tui.screens.approval import ApprovalSheet, stark

ALL = ["allow-once", "allow-session", "allow-rule", "deny"]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "GUARD", 0.05)
    monkeypatch.setattr(asking, "QUIET", 0.05)


async def asked(s: Shown, **fields: Any) -> tuple[ApprovalSheet, e.Approval]:
    """A turn that asks for consent, and the form it comes with."""
    if s.app.state.turn is None:
        await s.send("go")
        await s.until(lambda: s.app.state.turn is not None)
    request = s.gateway.request(s.app.state.current, **fields)
    await s.until(lambda: isinstance(s.app.screen, ApprovalSheet))
    sheet = s.app.screen
    assert isinstance(sheet, ApprovalSheet)
    await s.until(lambda: sheet.armed)
    return sheet, request


@pytest.mark.parametrize(("key", "decision"), [("y", "allow-once"), ("c", "allow-session"), ("a", "allow-rule"), ("n", "deny"),
                                               ("enter", "allow-once")])
async def test_each_answer_names_the_request_and_what_was_shown(key: str, decision: str) -> None:
    async with screen(FakeGateway()) as s:
        _, request = await asked(s, offers=ALL, parts=[Part("make test", "make test", "make test")])
        await s.pilot.press(key)
        await s.until(lambda: s.gateway.asked(c.AnswerApproval))
        assert s.gateway.asked(c.AnswerApproval) == [
            c.AnswerApproval(session=s.app.state.current, id=request.id, shown=shown(request), decision=decision)]
        await s.until(lambda: s.app.screen is s.desk)


async def test_a_key_already_on_its_way_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "GUARD", 3600.0)
    async with screen(FakeGateway()) as s:
        await s.send("go")
        await s.until(lambda: s.app.state.turn is not None)
        s.gateway.request(s.app.state.current, offers=ALL)
        await s.until(lambda: isinstance(s.app.screen, ApprovalSheet))
        await s.pilot.press("y", "a", "enter", "n", "escape", "c")
        assert isinstance(s.app.screen, ApprovalSheet) and not s.gateway.asked(c.AnswerApproval)


async def test_the_form_waits_until_nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "QUIET", 3600.0)
    async with screen(FakeGateway()) as s:
        await s.send("go")
        await s.until(lambda: s.app.state.turn is not None)
        await s.type("half a sen")
        s.gateway.request(s.app.state.current)
        await s.until(lambda: "asks for consent" in s.text())
        await s.type("tence")
        assert s.app.screen is s.desk and s.desk.prompt.text == "half a sentence"
        await s.pilot.press("ctrl+l")
        await s.until(lambda: isinstance(s.app.screen, ApprovalSheet))


async def test_esc_puts_it_off_and_it_can_be_brought_back() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s)
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.desk)
        await s.until(lambda: "asks for consent" in s.text())
        assert not s.gateway.asked(c.AnswerApproval) and not s.gateway.asked(c.Stop)
        await s.pilot.press("ctrl+l")
        await s.until(lambda: isinstance(s.app.screen, ApprovalSheet))


async def test_answered_elsewhere_it_goes_away() -> None:
    async with screen(FakeGateway()) as s:
        _, request = await asked(s)
        s.gateway.store(s.app.state.current, e.Approval(request.id, "exec", "x", "deny", by="user"))
        await s.until(lambda: s.app.screen is s.desk)
        assert not s.gateway.asked(c.AnswerApproval)


async def test_one_after_the_other() -> None:
    async with screen(FakeGateway()) as s:
        await s.send("go")
        await s.until(lambda: s.app.state.turn is not None)
        s.gateway.request(s.app.state.current, id="q1", detail="first command")
        s.gateway.request(s.app.state.current, id="q2", detail="second command")
        await s.until(lambda: "first command" in s.text() and "1 more waiting" in s.text())
        await s.until(lambda: isinstance(s.app.screen, ApprovalSheet) and s.app.screen.armed)
        await s.pilot.press("n")
        await s.until(lambda: "second command" in s.text())


async def test_an_answer_that_was_not_taken_is_said_and_asked_again() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s)
        s.gateway.errors[c.AnswerApproval] = UsageError("rules.toml does not fit.", hint="Mend it.")
        await s.pilot.press("y")
        await s.until(lambda: "does not fit" in s.text())
        await s.until(lambda: isinstance(s.app.screen, ApprovalSheet))


async def test_complaint_129_what_was_not_seen_to_its_end_is_not_allowed_for_longer() -> None:
    async with screen(FakeGateway()) as s:
        sheet, _ = await asked(s, offers=ALL, detail="\n".join(f"line {n}" for n in range(200)),
                               parts=[Part("x", "x", "x")])
        assert not sheet.read_whole and "read to the end first" in s.text()
        await s.pilot.press("a", "c")
        assert s.app.screen is sheet and not s.gateway.asked(c.AnswerApproval)
        for _ in range(40):
            await s.pilot.press("pagedown")
        await s.until(lambda: sheet.read_whole)
        assert "line 199" in s.text()
        await s.pilot.press("a")
        await s.until(lambda: s.gateway.asked(c.AnswerApproval))


async def test_an_allowance_that_cannot_be_shown_whole_cannot_be_given() -> None:
    async with screen(FakeGateway()) as s:
        long = [Part(f"make {n} {'x' * 80}", f"make {n} {'x' * 80}", "") for n in range(6)]
        sheet, _ = await asked(s, offers=["allow-once", "allow-rule", "deny"], detail="make", parts=long)
        await s.until(lambda: sheet.read_whole)
        assert "too long to be shown" in s.text()
        await s.pilot.press("a")
        assert s.app.screen is sheet and not s.gateway.asked(c.AnswerApproval)


async def test_a_command_is_shown_part_by_part() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s, offers=ALL, detail="cd a && make", parts=[Part("cd a", allowed=True), Part("make", "make", "make")])
        text = s.text()
        assert "✓ cd a" in text and "allowed before" in text and "• make" in text
        assert "Always in this repository: make" in text


async def test_a_patch_is_shown_as_one() -> None:
    async with screen(FakeGateway()) as s:
        await asked(s, capability="write", what="Change a.py", detail="@@ -1,2 +1,2 @@\n one\n-two\n+[b]2[/b]")
        assert "2 - two" in s.text() and "2 + [b]2[/b]" in s.text(), "and nothing in it is markup"


HIDING = ["\u202e", "\u200b", "\u200d", "\x1b", "\x00", "\u00a0", "\u2066", "\u3164", "\ufeff", "\ufe0f",
          "\u2800"]


@pytest.mark.parametrize("hidden", HIDING)
async def test_what_could_hide_is_visible(hidden: str) -> None:
    assert hidden not in stark(f"a{hidden}b") and len(stark(f"a{hidden}b")) > 2
    async with screen(FakeGateway()) as s:
        await asked(s, detail=f"ls {hidden}x", what=f"Run{hidden}")
        assert hidden not in s.text().replace("\u00a0", "" if hidden != "\u00a0" else hidden)
        assert "Once only" in s.text()


async def test_a_conversation_that_is_opened_shows_what_is_open_there() -> None:
    gateway = FakeGateway()
    session = gateway.make("other", branch="conv/x")
    gateway.requests[session] = {"q": e.Approval("q", "exec", "Run a command", detail="make", offers=["deny"])}
    async with screen(gateway) as s:
        assert s.app.screen is s.desk, "it is not the conversation being looked at"
        s.app.show(session)
        await s.until(lambda: isinstance(s.app.screen, ApprovalSheet))


async def test_the_plan_is_handed_over() -> None:
    gateway = FakeGateway()
    async with screen(gateway) as s:
        session = gateway.make("p", mode="plan", branch="conv/x")
        s.app.state.put(gateway.lines[session])
        s.app.show(session)
        await s.until(lambda: s.app.state.current == session)
        await s.send("/carry")
        await s.until(lambda: gateway.asked(c.HandOver))
        assert gateway.asked(c.HandOver)[0].mode == "agent"


async def test_the_screen_says_that_a_person_sits_there() -> None:
    async with screen(FakeGateway()) as s:
        assert s.gateway.asked(c.Attend) == [c.Attend(kind="screen")]
        assert s.desk.prompt.typed_at < time.monotonic()
