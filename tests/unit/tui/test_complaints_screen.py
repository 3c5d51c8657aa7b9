"""What people report of other screens (complaints, classes 5 and 6), a test a number; 78 is in tests/e2e/test_screen_ends.py."""

from __future__ import annotations

import asyncio

from rich.cells import cell_len
from textual.widgets import OptionList
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway, FakeTurn
from tests.support.fake_screen import Shown, screen
from thetis_tui.live import OUTPUT_LINES, Output
from thetis_tui.screens.dialog import Dialog
from thetis_tui.widgets.eventlog import PAGES, EventPane
from thetis_tui.widgets.rows.texts import ProseRow, UserRow


def talked(rounds: int) -> tuple[FakeGateway, str]:
    gateway = FakeGateway()
    session = gateway.make("Long", branch="conv/0a0b0c0d")
    for n in range(rounds):
        gateway.store(session, e.User(f"question {n}"))
        gateway.store(session, e.Assistant([{"type": "text", "text": f"answer {n}\n\n" + "some words\n\n" * 6}], "m"))
    return gateway, session


def one_turn(gateway: FakeGateway, session: str, n: int) -> None:
    """Words, a call with its output and result, an answer."""
    gateway.store(session, e.User(f"turn {n}"))
    turn = gateway.turns[session] = FakeTurn(gateway, session, "")
    turn.delta("text", "running")
    turn.reply("running", calls=("run",))
    call = turn.call("run", True, command="make")
    turn.delta("output", "ok\n" * 50, call)
    turn.result(call, "ok\n" * 50)
    turn.reply(f"done {n}")
    turn.finish()


def top_line(s: Shown) -> str:
    region = s.view.transcript.region
    return s.text().split("\n")[region.y][region.x : region.right]


async def streaming(s: Shown, gateway: FakeGateway, session: str) -> None:
    turn = gateway.begin(session)
    await turn.say("word " * 400, size=50)
    await s.pilot.pause()


async def test_65_what_streams_moves_no_reader_and_redraws_no_other_row() -> None:
    gateway, session = talked(30)
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("pageup", "pageup")
        await s.until(lambda: not s.view.transcript.following)
        await s.calm()
        before, built = top_line(s), [0]
        row = next(row for row in s.view.transcript.query(ProseRow) if s.view.transcript.region.overlaps(row.region))
        build = row.build
        row.build = lambda width: (built.__setitem__(0, built[0] + 1), build(width))[1]  # type: ignore[method-assign]
        await streaming(s, gateway, session)
        assert top_line(s) == before and not built[0]


async def test_66_a_resize_repeats_nothing_and_stays_at_the_end() -> None:
    gateway, session = talked(30)
    gateway.store(session, e.User("the very last words"))
    async with screen(gateway, conversation=session) as s:
        for size in ((60, 20), (140, 50), (20, 5), (100, 30)):
            await s.pilot.resize_terminal(*size)
            await s.calm()
        assert s.text().count("the very last words") == 1 and s.view.transcript.following


async def test_68_wide_characters_keep_every_line_within_the_screen() -> None:
    gateway = FakeGateway()
    session = gateway.make("日本語のドキュメント 🚀" * 6, branch="conv/0a0b0c0d")
    gateway.store(session, e.User("全角文字 👩‍👩‍👧‍👦 🇩🇪 é́ " * 40))
    table = "| 見出し | 🚀 |\n|--|--|\n| 全角 | 文字 |\n\n"
    gateway.store(session, e.Assistant([{"type": "text", "text": table + "漢字" * 200}], "m"))
    async with screen(gateway, conversation=session, size=(61, 20)) as s:
        for width in (61, 40, 23):
            await s.pilot.resize_terminal(width, 20)
            await s.calm()
            strips = s.app.screen._compositor.render_strips()
            assert all(sum(cell_len(segment.text) for segment in strip) == width for strip in strips)


async def test_69_an_emoji_of_several_code_points_goes_and_is_passed_whole() -> None:
    async with screen(FakeGateway()) as s:
        for emoji in ("👩‍👩‍👧‍👦", "🇩🇪", "é́", "👍🏽"):
            s.desk.prompt.put(f"a{emoji}b")
            await s.pilot.press("left", "left")
            assert s.desk.prompt.cursor_location == (0, 1), emoji
            await s.pilot.press("right", "backspace")
            assert s.desk.prompt.text == "ab", emoji


async def test_70_the_terminals_own_cursor_stands_where_one_types() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("words")
        await s.pilot.pause()
        assert s.app.cursor_position == s.desk.prompt.cursor_screen_offset  # an IME draws its preedit there


async def test_72_the_first_key_lands_wherever_the_focus_was() -> None:
    gateway, session = talked(2)
    async with screen(gateway, conversation=session, size=(120, 30)) as s:
        for away in (s.desk.sidebar.list, s.view.transcript.query(UserRow).first()):
            s.desk.prompt.load_text("")
            away.focus()
            await s.pilot.press("x", "y")
            assert s.desk.prompt.text == "xy"


async def test_73_keys_on_their_way_answer_no_dialog_and_a_click_on_a_list_does_one_thing() -> None:
    gateway = FakeGateway()
    session = gateway.make("Old", branch="conv/0a0b0c0d")
    async with screen(gateway, conversation=session) as s:
        s.app.perform("delete")
        await s.until(lambda: isinstance(s.app.screen, Dialog))
        s.keys(("x", "x"), ("enter", "\r"), ("x", "x"))  # at once, as from somebody who types
        for _ in range(3):
            await s.pilot.pause()
        assert isinstance(s.app.screen, Dialog) and not gateway.asked(c.DeleteConversation)


async def test_74_keys_of_modes_mean_nothing_in_a_field_one_writes_in() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    async with screen(gateway, conversation=session) as s:
        s.app.perform("title")
        await s.until(lambda: s.app.screen is not s.desk)
        await s.pilot.press("shift+tab", "ctrl+n", "f3")
        assert not gateway.asked(c.ChangeSetting) and s.app.state.current == session


async def test_76_escape_stops_whatever_is_typed_and_ctrl_d_leaves_only_when_nothing_is() -> None:
    gateway, session = talked(1)
    async with screen(gateway, conversation=session) as s:
        turn = gateway.begin(session)
        await s.until(lambda: s.app.state.turn)
        await s.type("half a sentence")
        await s.pilot.press("ctrl+d")
        assert s.app.is_running
        await s.pilot.press("escape")
        await s.until(lambda: turn.stopped, "stopped")
        assert s.desk.prompt.text == "half a sentence"


async def test_77_what_is_mounted_is_bounded_however_long_the_conversation() -> None:
    gateway, session = talked(500)
    async with screen(gateway, conversation=session) as s:
        rows = len(s.view.transcript.children)
        assert rows < 200
        await s.pilot.press("f2")
        pane = s.desk.query_one(EventPane)
        for place in range(0, 1000, 100):
            pane.lines.scroll_to(y=place, animate=False)
            await s.pilot.pause()
        await s.until(lambda: len(pane.lines._pages))
        assert len(pane.lines._pages) <= PAGES and not pane.lines.children


async def test_80_what_steers_or_hides_is_shown() -> None:
    gateway = FakeGateway()
    gateway.make("\x1b]0;owned\x07\u202edecoy\u200b", branch="conv/0a0b0c0d")
    async with screen(gateway, size=(120, 30)) as s:
        assert s.desk.query_one(OptionList).option_count == 2
        assert "\x1b" not in s.text() and "\u202e" not in s.text() and "␛]0;owned␇" in s.text()


async def test_81_and_82_after_many_turns_the_screen_holds_a_window_not_the_log() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    async with screen(gateway, conversation=session) as s:
        for n in range(80):
            one_turn(gateway, session, n)
        await s.until(lambda: s.view.window.at_end and "turn 79" in s.transcript())
        await s.calm()
        view = s.view
        assert len(view.transcript.children) < 250 and len(view.window.mounted) <= view.window.high
        assert not view.streams.outputs and not view.streams.replies and not view._reply_rows and not view._adopt
        assert len(view.transcript._calls) < 200 and len(view.transcript._rows) < 250


def test_84_and_85_a_child_that_writes_without_end_costs_a_bounded_tail() -> None:
    output = Output()
    for _ in range(200):
        output.add("x" * 100_000)
    for n in range(5_000):
        output.add(f"\nline {n}")
    assert len(output.lines) == OUTPUT_LINES and sum(map(len, output.lines)) < 2_000_000
    assert output.tail(1) == ["line 4999"] and output.total == 5_000


async def test_86_a_late_turn_asks_for_no_more_than_an_early_one() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    asked: list[int] = []
    async with screen(gateway, conversation=session) as s:
        for n in range(16):
            before = sum(ask.upto - ask.after for ask in gateway.asked(c.RenderEvents))
            one_turn(gateway, session, n)
            await s.until(lambda n=n: s.view.window.at_end and f"turn {n}" in s.transcript())
            asked.append(sum(ask.upto - ask.after for ask in gateway.asked(c.RenderEvents)) - before)
    assert max(asked[-5:]) <= max(asked[:5]) + 5


async def test_88_what_streams_by_is_not_logged() -> None:
    gateway, session = talked(1)
    async with screen(gateway, conversation=session) as s:
        before = len(gateway.logs[session])
        await streaming(s, gateway, session)
        assert len(gateway.logs[session]) == before + 1  # the turn's beginning


async def test_89_opening_reads_the_end_however_much_there_is() -> None:
    read: list[int] = []
    for rounds in (50, 800):
        gateway, session = talked(rounds)
        async with screen(gateway, conversation=session) as s:
            await s.until(lambda r=rounds: f"answer {r - 1}" in s.transcript())
            read.append(sum(min(ask.limit, 60) for ask in gateway.asked(c.ReadEvents)))
            read.append(sum(ask.upto - ask.after for ask in gateway.asked(c.RenderEvents)))
    assert read[0] == read[2] and abs(read[1] - read[3]) <= 40


async def test_90_the_screen_waits_for_nothing_before_one_can_type() -> None:
    gateway, gate = FakeGateway(), asyncio.Event()

    async def dark() -> object:
        await gate.wait()
        return gateway.client

    async with screen(gateway, connect=dark, wait=False) as s:  # type: ignore[arg-type]
        await s.until(lambda: s.desk.prompt.has_focus)
        await s.send("said into the dark")
        assert "said into the dark" in s.transcript()
        gate.set()
        await s.until(lambda: gateway.asked(c.Submit), "sent once there is somebody")


async def test_92_listing_files_blocks_nothing() -> None:
    gateway = FakeGateway()
    async with screen(gateway) as s:
        forever = asyncio.get_running_loop().create_future()

        async def names(root: str) -> list[str]:
            await forever
            return []

        s.desk._files.names = names  # type: ignore[method-assign]
        await s.type("see @par")
        await s.pilot.press("enter")
        await s.until(lambda: gateway.asked(c.Submit), "sent")
