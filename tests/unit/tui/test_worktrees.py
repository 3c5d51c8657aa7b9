"""The page of worktrees: what lies on disk for whom, and taking away what nobody needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol.merging import ListWorktreeLines, PruneWorktrees, WorktreeLine

from tests.support.fake_gateway import T0, FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.screens.dialog import Dialog
from thetis_tui.screens.worktrees import WorktreesScreen
from thetis_tui.text import size


def three() -> FakeGateway:
    gateway = FakeGateway()
    session = gateway.make("Fix the parser", branch="conv/0a0b0c0d")
    gateway.worktrees = [
        WorktreeLine("conv/0a0b0c0d", "/state/worktrees/0a0b0c0d", "ready", session, "Fix the [b]parser[/b]", T0, 2, 5 << 20,
                     held_by=7, why="it has uncommitted changes"),
        WorktreeLine("conv/11111111", "/state/worktrees/11111111", "ready", "gone", "Old", T0, 0, 3 << 20, True, prunable=True),
        WorktreeLine("conv/22222222", "/state/worktrees/22222222", "ready", "", "", T0, -1, -1, why="nobody looked"),
    ]
    return gateway


async def opened(s: Shown) -> WorktreesScreen:
    await s.send("/worktrees")
    await s.until(lambda: isinstance(s.app.screen, WorktreesScreen))
    assert isinstance(s.app.screen, WorktreesScreen)
    return s.app.screen


@pytest.mark.parametrize("width", [60, 120])
async def test_each_says_whose_it_is_how_large_and_why_it_stays(width: int) -> None:
    async with screen(three(), size=(width, 24)) as s:
        await opened(s)
        await s.until(lambda: "3 worktrees" in s.text() and "1 can go" in s.text())
        text = s.text()
        assert "Fix the [b]parser[/b]" in text and "5.0 MiB" in text and "stays: it has uncommitted changes" in text
        assert "its conversation was deleted" in text and "not looked at" in text


async def test_enter_goes_to_the_conversation() -> None:
    async with screen(three()) as s:
        page = await opened(s)
        await s.until(lambda: page.chosen is not None)
        await s.pilot.press("enter")
        await s.until(lambda: s.app.screen is s.desk and s.app.state.current != "")


async def test_those_nobody_needs_go_after_asking_and_only_then() -> None:
    gateway = three()
    async with screen(gateway) as s:
        page = await opened(s)
        await s.until(lambda: page.chosen is not None)
        await s.pilot.press("d")
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed)
        await s.pilot.press("n")
        await s.until(lambda: s.app.screen is page)
        assert not gateway.asked(PruneWorktrees)
        await s.pilot.press("d")
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed)
        await s.pilot.press("r")
        await s.until(lambda: bool(gateway.asked(PruneWorktrees)) and len(gateway.asked(ListWorktreeLines)) == 2)
        await s.until(lambda: any("1 worktree removed" in text for text in s.toasts()))
        await s.until(lambda: "2 worktrees" in s.text())


async def test_none_and_a_reason_are_said() -> None:
    gateway = FakeGateway()
    async with screen(gateway) as s:
        await opened(s)
        await s.until(lambda: "No worktree yet" in s.text())
        await s.pilot.press("escape")
        gateway.errors[ListWorktreeLines] = RemoteError("The git host has gone.")
        await opened(s)
        await s.until(lambda: "The git host has gone." in s.text())


@given(st.integers(0, 2**50))
def test_sizes_fit_a_column(number: int) -> None:
    assert len(size(number)) <= 11
