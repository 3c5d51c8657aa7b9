"""Files changed, beside the transcript: they follow the work, and Enter shows what became of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.containers import VerticalScroll
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import PATCH
from tests.support.fake_screen import Shown, screen
from thetis_tui.screens.diff import DiffScreen
from thetis_tui.widgets.filespane import FilesPane, file_line

OTHER = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,60 +1,61 @@\n" + " same\n" * 60 + "+new\n"


def pane(s: Shown) -> FilesPane:
    found = s.desk.pane_of("files")
    assert isinstance(found, FilesPane)
    return found


def begun(**fields: object) -> tuple[FakeGateway, str]:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    gateway.store(session, e.User("go"))
    return gateway, session


async def test_what_an_edit_changes_appears_and_enter_shows_that_file() -> None:
    gateway, session = begun()
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+d")
        await s.until(lambda: "Nothing has changed on this branch yet" in s.text())
        gateway.diff = c.DiffText(patch=OTHER + PATCH, files=[("a.txt", 1, 0), ("engine/parser.py", 5, 2)])
        turn = gateway.begin(session)
        turn.result(turn.call("edit", True, path="a.txt", diff=OTHER), "")
        await s.until(lambda: "engine/parser.py" in s.text() and "2 files" in s.text(), "the files")
        await s.pilot.press("down", "enter")
        await s.until(lambda: isinstance(s.app.screen, DiffScreen) and s.app.screen.query_one(VerticalScroll).scroll_y > 30,
                      "the change of the second file, not the beginning of all")
        await s.pilot.press("escape", "alt+d")
        await s.until(lambda: not pane(s).display and s.desk.prompt.has_focus)


async def test_a_burst_of_results_is_one_look_and_none_while_the_pane_is_away() -> None:
    gateway, session = begun()
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        turn = gateway.begin(session)
        turn.result(turn.call("edit", True, path="a.txt", diff=OTHER), "")
        await s.calm()
        assert not gateway.asked(c.GetDiff)
        await s.pilot.press("alt+d")
        await s.until(lambda: len(gateway.asked(c.GetDiff)) == 1)
        for _ in range(20):
            turn.result(turn.call("edit", True, path="a.txt", diff=OTHER), "")
        await s.until(lambda: len(gateway.asked(c.GetDiff)) == 2, "one more look")
        await s.calm()
        assert len(gateway.asked(c.GetDiff)) == 2


async def test_one_pane_stands_there_at_a_time_and_it_goes_with_the_conversation() -> None:
    gateway, session = begun()
    other = gateway.make("Two", branch="conv/1a1b1c1d")
    gateway.diff = c.DiffText(patch=PATCH, files=[("engine/parser.py", 5, 2)])
    async with screen(gateway, conversation=session, size=(170, 30)) as s:
        await s.pilot.press("alt+d")
        await s.until(lambda: "engine/parser.py" in s.text())
        await s.pilot.press("f2")
        await s.until(lambda: s.desk.pane.display and not pane(s).display)
        await s.pilot.press("alt+d")
        await s.until(lambda: pane(s).display and not s.desk.pane.display)
        gateway.diff = c.DiffText(patch="", files=[("only/here.py", 1, 1)])
        s.app.show(other)
        await s.until(lambda: "only/here.py" in s.text(), "the other's files")
        assert gateway.asked(c.GetDiff)[-1].session == other


async def test_why_it_cannot_be_looked_at_stands_in_the_pane_and_names_are_no_markup() -> None:
    gateway, session = begun()
    gateway.errors[c.GetDiff] = RemoteError("The branch [red]is gone[/].")
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        await s.pilot.press("alt+d")
        await s.until(lambda: "The branch [red]is gone[/]." in s.text())
        del gateway.errors[c.GetDiff]
        gateway.diff = c.DiffText(patch="", files=[("a[bold]\x1b[31m.py", 1, 0)])
        gateway.store(session, e.TurnFinished("t", "stop"))
        await s.until(lambda: "a[bold]" in s.text() and "\x1b" not in s.text())


@given(st.text(min_size=1, max_size=200), st.integers(0, 10**7), st.integers(0, 10**7), st.integers(24, 90))
def test_a_line_is_as_wide_as_its_place(path: str, added: int, removed: int, width: int) -> None:
    from thetis_tui.sanitise import one_line

    assert file_line(one_line(path) or "x", added, removed, width).cell_length == width
