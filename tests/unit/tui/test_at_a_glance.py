"""What stands where one looks first: the palette, the help of a page, the list, the line at the foot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import OptionList
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.merging import PlanMerge

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import furnished
from tests.support.fake_screen import Shown, screen
from thetis_tui.commands import ALL, SECTIONS
from thetis_tui.keyline import key_line
from thetis_tui.screens.help import HelpScreen
from thetis_tui.screens.home import HomeScreen


async def palette(s: Shown, *typed: str) -> OptionList:
    await s.pilot.press("ctrl+p", *typed)
    await s.until(lambda: s.app.screen is not s.desk and s.app.screen.query(OptionList).first().option_count)
    return s.app.screen.query(OptionList).first()


@pytest.mark.parametrize("width", [50, 80, 120, 200])
async def test_a_command_is_one_line_its_key_at_the_right(width: int) -> None:
    async with screen(furnished(), size=(width, 40)) as s:
        found = await palette(s)
        room = found.scrollable_content_region.width
        for number in range(found.option_count):
            line = found.get_option_at_index(number).prompt
            assert "\n" not in line.plain and line.cell_length <= room - 2, line.plain  # type: ignore[union-attr]
        new = found.get_option_at_index(0).prompt.plain  # type: ignore[union-attr]
        assert new.startswith("New conv") and new.endswith("ctrl+n")


async def test_a_command_is_found_by_its_slash_too() -> None:
    async with screen(furnished()) as s:
        found = await palette(s, *"worktr")
        await s.until(lambda: found.option_count and "Worktrees" in found.get_option_at_index(0).prompt.plain)  # type: ignore[union-attr]
        await s.pilot.press("enter")
        await s.until(lambda: "No worktree yet" in s.text())


def test_every_command_is_in_one_section() -> None:
    assert len({command.id for command in ALL}) == len(ALL) == sum(len(commands) for _, commands in SECTIONS)


async def test_help_is_about_the_page_one_is_on_first() -> None:
    async with screen(furnished(), size=(120, 40)) as s:
        await s.pilot.press("f4")
        await s.until(lambda: isinstance(s.app.screen, HomeScreen))
        await s.pilot.press("f1")
        await s.until(lambda: "On this page" in s.text() and "Archived too" in s.text())
        assert s.text().index("Archived too") < s.text().index("Typing")
        await s.pilot.press("f1", "escape")
        await s.until(lambda: isinstance(s.app.screen, HomeScreen), "one page, not two")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.desk)
        await s.pilot.press("f1")
        await s.until(lambda: isinstance(s.app.screen, HelpScreen) and "Typing" in s.text())
        assert "On this page" not in s.text()


async def test_the_list_says_what_runs_and_who_is_needed() -> None:
    gateway = furnished()
    names = {line.title: line.id for line in gateway.lines.values()}
    async with screen(gateway, size=(120, 40)) as s:
        running = names["Why is start-up slow on cold caches?"]
        gateway.store(running, e.ToolInvocation("c1", "run", {"command": "make \x1b[31m[b]check"}, "tool:run", True, "t"))
        gateway.request(names["Rename the configuration keys"])
        await s.until(lambda: "run make" in s.text() and "needs you" in s.text())
        assert "[b]check" in s.text() and "\x1b" not in s.text()


async def test_the_share_of_the_window_stands_at_the_foot_and_goes_with_the_conversation() -> None:
    gateway = FakeGateway()
    session, other = gateway.make("One", branch="conv/1"), gateway.make("Two", branch="conv/2")
    gateway.store(session, e.User("go"))
    gateway.store(session, e.Assistant([], "m", usage=e.Usage(input=2_000, cache_read=40_000, output=9)))
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.until(lambda: "context 42 %" in s.text())
        s.app.show(other)
        await s.until(lambda: "Two" in s.text() and "context" not in s.text())


async def test_merge_is_a_key_of_the_list_of_all() -> None:
    gateway = furnished()
    gateway.errors[PlanMerge] = RemoteError("There is nothing to merge yet.")
    async with screen(gateway, size=(120, 30)) as s:
        await s.pilot.press("f4")
        await s.until(lambda: isinstance(s.app.screen, HomeScreen))
        await s.pilot.press("down", "m")  # in the first one a turn runs
        await s.until(lambda: bool(gateway.asked(PlanMerge)) and any("nothing to merge" in text for text in s.toasts()))


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=6), st.text("xyz ", max_size=20)), min_size=1, max_size=9),
       st.integers(30, 200))
def test_the_way_out_is_never_left_out(pairs: list[tuple[str, str]], width: int) -> None:
    line = key_line(pairs, width)
    assert line.plain.endswith(" ".join(pairs[-1]))
    assert line.cell_length <= max(width, len(" ".join(pairs[-1])))
