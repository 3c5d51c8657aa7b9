"""Word to a person who looks elsewhere: title, bell, the terminal's notices; none of it steers the terminal."""

from __future__ import annotations

import pytest
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.notices import LONG, Level, plain


class Written(list[str]):
    """What the terminal was sent apart from the drawing."""

    @property
    def bells(self) -> int:
        return self.count("\a")

    @property
    def notices(self) -> list[str]:
        return [text for text in self if text.startswith(("\x1b]9;", "\x1b]777;"))]

    @property
    def titles(self) -> list[str]:
        return [text[4:-2] for text in self if text.startswith("\x1b]2;")]


def overhear(s: Shown, level: Level = "all") -> Written:
    written = Written()
    driver = s.app._driver
    assert driver is not None
    driver.write = written.append  # type: ignore[method-assign]
    s.app.notices.level = level
    return written


async def test_a_request_in_another_conversation_is_told_by_bell_and_notice() -> None:
    gateway = FakeGateway()
    session = gateway.make("Deploy", branch="conv/0a0b0c0d", state="running")
    async with screen(gateway) as s:
        written = overhear(s)
        gateway.request(session)
        await s.until(lambda: written.notices, "told")
        assert "needs you: Deploy" in written.notices[0] and written.bells == 1
        await s.until(lambda: any(title.startswith("?") for title in written.titles), "the title says so")


async def test_what_one_looks_at_is_not_told_and_what_one_turned_away_from_is() -> None:
    gateway = FakeGateway()
    session = gateway.make("Deploy", branch="conv/0a0b0c0d", state="running")
    async with screen(gateway, conversation=session) as s:
        written = overhear(s)
        gateway.request(session)
        await s.until(lambda: s.app.state.requests.get(session))
        assert not written.bells
        s.app.app_focus = False
        gateway.request(session)
        await s.until(lambda: written.bells, "told")


@pytest.mark.parametrize(("lasted", "stopped_by", "told"), [
    (LONG + 1, "stop", "done"), (1.0, "stop", ""), (LONG + 1, "cancelled", ""), (1.0, "error", "failed")])
async def test_the_end_of_a_long_turn_is_told(lasted: float, stopped_by: str, told: str) -> None:
    gateway, clock = FakeGateway(), [1000.0]
    session = gateway.make("Build", branch="conv/0a0b0c0d")
    async with screen(gateway) as s:
        s.app.state.now = lambda: clock[0]
        written = overhear(s)
        gateway.store(session, e.TurnStarted("t", "agent", "rehearsal"))
        await s.until(lambda: session in s.app.state.turns)
        clock[0] += lasted
        gateway.store(session, e.TurnFinished("t", stopped_by))  # type: ignore[arg-type]
        await s.until(lambda: session not in s.app.state.turns)
        await s.pilot.pause()
        assert [told in text for text in written.notices] == ([True] if told else [])


@pytest.mark.parametrize(("level", "bells", "notices"), [("all", 1, 1), ("bell", 1, 0), ("title", 0, 0), ("off", 0, 0)])
async def test_each_kind_can_be_left_out(level: Level, bells: int, notices: int) -> None:
    gateway = FakeGateway()
    session = gateway.make("Deploy", branch="conv/0a0b0c0d", state="running")
    async with screen(gateway) as s:
        written = overhear(s, level)
        gateway.request(session)
        await s.until(lambda: s.app.state.requests.get(session))
        await s.until(lambda: bool(written.titles) == (level != "off"))
        await s.pilot.pause()
        assert (written.bells, len(written.notices)) == (bells, notices)


def test_a_title_cannot_end_the_sequence_it_stands_in() -> None:
    assert plain("a\x1b\\b\ac;d\x9c\ne") == "a␛\\b␇c,d⟨U+009C⟩ e"
    assert len(plain("x" * 1000)) == 120
