"""The reader's place: the end is followed until they scroll, nothing moves under them, and the screen stays bounded."""

from __future__ import annotations

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import fix_parser, played
from tests.support.fake_screen import Shown, screen
from thetis_tui.widgets.rows.base import Row
from thetis_tui.widgets.rows.texts import UserRow
from thetis_tui.widgets.rows.tool import ToolRow


def long_talk(gateway: FakeGateway, count: int = 300) -> str:
    """A conversation of `count` notes, each saying its number."""
    session = gateway.make("long", branch="conv/l")
    for number in range(1, count + 1):
        gateway.store(session, e.User(f"word {number} " + "and more " * (number % 9)))
    return session


def top_row(s: Shown) -> tuple[int, int]:
    """The event at the top of the view, and how far its first line is from the top."""
    transcript = s.view.transcript
    for row in transcript.children:
        if isinstance(row, Row) and row.region.bottom > transcript.region.y:
            return row.seq, row.region.y - transcript.region.y
    raise AssertionError("nothing is shown")


async def opened(s: Shown, last: str) -> None:
    await s.until(lambda: last in s.transcript())
    await s.until(lambda: s.view.transcript.max_scroll_y > 0)
    await s.calm()


async def test_a_long_conversation_opens_at_its_end_and_mounts_only_that() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway)
    async with screen(gateway, conversation=session) as s:
        await opened(s, "word 300 ")
        assert "word 300" in s.text()
        assert len(s.view.transcript.children) <= 100
        assert s.view.transcript.following
        asked = gateway.asked(c.RenderEvents)
        assert sum(ask.upto - ask.after for ask in asked) <= 120


async def test_scrolling_up_loads_more_without_moving_what_is_read() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway)
    async with screen(gateway, conversation=session) as s:
        await opened(s, "word 300 ")
        transcript = s.view.transcript
        seen = set()
        for _ in range(16):
            transcript.scroll_to(y=max(0, transcript.scroll_y - 14), animate=False, immediate=True)
            await s.pilot.pause()
            before = top_row(s)
            window = s.view.window
            older = window.after
            await s.calm()
            seen.add(before[0])
            if window.after < older:
                assert top_row(s) == before, "more was mounted above and nothing moved"
        assert min(seen) < 260
        assert len(transcript.children) <= s.view.window.high + s.view.window.page


async def test_a_reader_is_not_moved_by_what_comes_in() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway)
    async with screen(gateway, conversation=session) as s:
        await opened(s, "word 300 ")
        transcript = s.view.transcript
        transcript.scroll_to(y=transcript.scroll_y - 15, animate=False, immediate=True)
        await s.calm()
        assert not transcript.following
        before = top_row(s)
        turn = gateway.begin(session)
        for number in range(60):
            await turn.say(f"reply {number} " * 3)
            turn.reply()
        turn.finish()
        await s.until(lambda: "ctrl+end to follow" in s.text())
        await s.calm()
        assert top_row(s) == before
        await s.pilot.press("ctrl+end")
        await s.until(lambda: "reply 59" in s.text())
        assert s.view.transcript.following
        await s.until(lambda: "to follow" not in s.text())


async def test_a_follower_sees_the_end_and_the_top_is_let_go() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway, 150)
    async with screen(gateway, conversation=session) as s:
        await opened(s, "word 150 ")
        for number in range(300):
            gateway.store(session, e.User(f"newer {number}."))
        await s.until(lambda: "newer 299." in s.text())
        await s.calm()
        assert s.view.transcript.following
        assert len(s.view.transcript.children) <= s.view.window.high
        assert "newer 299." in s.text()


async def test_reading_far_up_lets_the_end_go_and_it_comes_back() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway, 260)
    async with screen(gateway, conversation=session) as s:
        await opened(s, "word 260 ")
        transcript = s.view.transcript
        for _ in range(60):
            transcript.scroll_to(y=0, animate=False, immediate=True)
            await s.calm()
            if s.view.window.after == 0:
                break
        assert s.view.window.after == 0
        assert "word 260 " not in s.transcript()
        assert len(transcript.children) <= s.view.window.high + s.view.window.page
        transcript.scroll_to(y=0, animate=False, immediate=True)
        await s.until(lambda: "word 1 " in s.text())
        for _ in range(200):
            transcript.scroll_to(y=transcript.max_scroll_y - 1, animate=False, immediate=True)
            await s.calm()
            if s.view.window.at_end:
                break
        assert s.view.window.at_end
        await s.until(lambda: "word 260 " in s.transcript())


async def test_what_streams_while_the_end_is_far_away_is_there_on_return() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway, 400)
    async with screen(gateway, conversation=session) as s:
        await opened(s, "word 400 ")
        transcript = s.view.transcript
        while s.view.window.at_end:
            transcript.scroll_to(y=0, animate=False, immediate=True)
            await s.calm()
        turn = gateway.begin(session)
        await turn.say("begun while away, ")
        await s.calm()
        assert "begun while away" not in s.transcript()
        await s.pilot.press("ctrl+end")
        await s.until(lambda: "begun while away" in s.transcript())
        await turn.say("ended here")
        await s.until(lambda: "begun while away, ended here" in s.transcript())
        turn.reply()
        turn.finish()
        await s.until(lambda: "done" in s.transcript())
        assert s.transcript().count("begun while away") == 1


async def test_resizing_keeps_the_end_or_the_readers_place() -> None:
    gateway = FakeGateway()
    session = long_talk(gateway, 200)
    async with screen(gateway, conversation=session, size=(110, 30)) as s:
        await opened(s, "word 200 ")
        for width, height in ((60, 20), (120, 40), (90, 12), (110, 30)):
            await s.pilot.resize_terminal(width, height)
            await s.calm()
            await s.until(lambda: "word 200 " in s.text(), "still at the end")
        transcript = s.view.transcript
        transcript.scroll_to(y=transcript.scroll_y - 40, animate=False, immediate=True)
        await s.calm()
        before = top_row(s)[0]
        for width, height in ((70, 30), (140, 30), (110, 30)):
            await s.pilot.resize_terminal(width, height)
            await s.calm()
            assert top_row(s)[0] == before


async def test_short_content_stands_at_the_top() -> None:
    gateway = FakeGateway()
    session = gateway.make("short", branch="conv/s")
    gateway.store(session, e.User("only this"))
    async with screen(gateway, conversation=session) as s:
        await s.until(lambda: "only this" in s.text())
        await s.calm()
        row = next(y for y, line in enumerate(s.text().splitlines()) if "only this" in line)
        assert row <= 5
        assert s.view.transcript.following


async def test_folding_is_by_click_by_key_and_for_all() -> None:
    gateway = FakeGateway()
    session = gateway.make("folds", branch="conv/f")
    played(gateway, session, "fix it")
    async with screen(gateway, conversation=session, size=(110, 60)) as s:
        await s.until(lambda: "done" in s.transcript())
        assert "test_9.py" not in s.transcript()
        run = next(row for row in s.view.query(ToolRow) if row.call is not None and row.call.title.startswith("run"))
        await s.pilot.click(run, offset=(4, 0))
        await s.until(lambda: "test_9.py" in s.transcript())
        assert s.desk.prompt.has_focus, "a click on a row leaves the cursor where one types"
        await s.pilot.click(run, offset=(4, 0))
        await s.until(lambda: "test_9.py" not in s.transcript())
        run.focus()
        await s.pilot.press("enter")
        await s.until(lambda: "test_9.py" in s.transcript())
        await s.pilot.press("ctrl+o")
        await s.until(lambda: "class ParseError" in s.transcript())
        await s.pilot.press("ctrl+o")
        await s.until(lambda: "test_9.py" not in s.transcript())


async def test_what_is_selected_with_the_mouse_is_copied_without_soft_wraps() -> None:
    gateway = FakeGateway()
    session = gateway.make("copy", branch="conv/c")
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    gateway.store(session, e.User(words))
    async with screen(gateway, conversation=session, size=(60, 20)) as s:
        await s.until(lambda: "sixteen" in s.text())
        row = s.view.query_one(UserRow)
        await s.pilot.mouse_down(row, offset=(2, 0))
        await s.pilot.hover(row, offset=(30, 1))
        await s.pilot.mouse_up(row, offset=(30, 1))
        await s.until(lambda: s.app.screen.get_selected_text())
        await s.pilot.press("ctrl+c")
        await s.until(lambda: s.app.clipboard)
        assert s.app.clipboard
        assert "\n" not in s.app.clipboard
        assert s.app.clipboard in words
        assert len(s.app.clipboard) > 60
        assert s.app.return_code is None


async def test_a_call_and_its_result_are_one_row_even_when_the_window_cuts_between_them() -> None:
    gateway = FakeGateway()
    session = gateway.make("cut", branch="conv/c")
    gateway.store(session, e.ToolInvocation("c1", "read", {"path": "engine.py"}, "op", False))
    for number in range(60):
        gateway.store(session, e.User(f"between {number}"))
    gateway.store(session, e.ToolResult("c1", "ok", "the content", duration_ms=3))
    async with screen(gateway, conversation=session) as s:
        await opened(s, "between 59")
        assert len(s.view.query(ToolRow)) == 1
        assert "read engine.py" not in s.transcript()
        transcript = s.view.transcript
        while s.view.window.after > 0:
            transcript.scroll_to(y=0, animate=False, immediate=True)
            await s.calm()
        await s.until(lambda: "read engine.py" in s.transcript())
        await s.until(lambda: len(s.view.query(ToolRow)) == 1)
        assert s.transcript().count("the content") == 1
        assert s.view.query_one(ToolRow).state == "ok"


async def test_a_conversation_stays_mounted_for_a_while_and_the_oldest_goes() -> None:
    gateway = FakeGateway()
    sessions = [gateway.make(f"talk {number}", branch=f"conv/{number}") for number in range(7)]
    for session in sessions:
        played(gateway, session, f"question of {session}")
    async with screen(gateway) as s:
        for session in sessions:
            await s.desk.open(session)
        renders = len(gateway.asked(c.RenderEvents))
        await s.desk.open(sessions[-2])
        assert len(gateway.asked(c.RenderEvents)) == renders, "still mounted"
        await s.until(lambda: len(s.desk.views.children) <= 5)


async def test_a_scene_played_three_times_over_does_not_grow_without_end() -> None:
    gateway = FakeGateway()
    gateway.script = fix_parser
    async with screen(gateway) as s:
        sizes = []
        for number in range(3):
            await s.send(f"again {number}")
            await s.until(lambda: not gateway.turns and not s.app.speech.outbox.waiting)
            await s.calm()
            sizes.append(len(s.app.query("*")))
        assert not s.view.streams.replies
        assert not s.view.streams.outputs
        assert not s.view.pending
        assert not s.view.transcript.lively
