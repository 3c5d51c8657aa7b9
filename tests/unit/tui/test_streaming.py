"""Streaming: words appear as they come, and the durable event neither doubles nor loses any of them."""

from __future__ import annotations

import asyncio

import pytest
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway, FakeTurn
from tests.support.fake_scenes import ANSWER, fix_parser
from tests.support.fake_screen import Shown, screen
from thetis_tui.widgets.rows.texts import ProseRow, ThinkingRow
from thetis_tui.widgets.rows.tool import ToolRow


async def begun(s: Shown, text: str = "go") -> FakeTurn:
    """Send `text` and return the turn it began."""
    await s.send(text)
    await s.until(lambda: s.gateway.turns)
    await s.until(lambda: s.transcript().strip().endswith(text), "the person's words stand alone")
    return next(iter(s.gateway.turns.values()))


def prose(s: Shown) -> list[ProseRow]:
    return list(s.view.query(ProseRow))


async def test_words_show_as_they_come_and_stay_when_they_are_durable() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        turn.delta("text", "Hello **wor")
        await s.until(lambda: "Hello **wor" in s.transcript())
        row = prose(s)[0]
        turn.delta("text", "ld**")
        await s.until(lambda: "Hello world" in s.transcript())
        turn.reply()
        await s.until(lambda: row.seq > 0, "durable")
        turn.finish()
        await s.until(lambda: "done" in s.transcript())
        assert prose(s) == [row], "the same row, not another one"
        assert s.transcript().count("Hello world") == 1


async def test_a_fence_split_over_pieces_is_drawn_as_one() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        for piece in ("Look:\n\n`", "``py", "thon\nx = ", "1\n`", "``\nafter"):
            turn.delta("text", piece)
            await asyncio.sleep(0.06)
        await s.until(lambda: "after" in s.transcript())
        turn.reply()
        await s.until(lambda: prose(s)[0].seq > 0)
        assert "```" not in s.transcript()
        assert " x = 1" in s.transcript()


async def test_lost_deltas_are_made_good_by_the_event() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        turn.delta("text", "one ")
        s.gateway.mute = {c.Delta}
        turn.delta("text", "two ")
        s.gateway.mute = set()
        turn.delta("text", "three")
        await s.until(lambda: "one three" in s.transcript())
        turn.reply()
        await s.until(lambda: "one two three" in s.transcript())
        assert "one three" not in s.transcript()
        assert len(prose(s)) == 1


async def test_a_reply_nobody_streamed_is_shown_all_the_same() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        turn.reply("out of the blue")
        await s.until(lambda: "out of the blue" in s.transcript())


async def test_a_gap_in_the_events_is_read_from_the_log() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        s.gateway.mute = {c.EventStored}
        turn.reply("first")
        call = turn.call("read", path="x")
        s.gateway.mute = set()
        turn.result(call, "content of x")
        await s.until(lambda: "first" in s.transcript() and "content of x" in s.transcript())
        assert s.transcript().index("first") < s.transcript().index("content of x")
        assert s.gateway.asked(c.ReadEvents)


async def test_two_replies_of_a_turn_do_not_mix() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        await turn.say("the first reply")
        turn.reply(calls=("read",))
        call = turn.call("read", path="a")
        await turn.say("the second reply")
        turn.result(call, "late result")
        await s.until(lambda: "the second reply" in s.transcript() and "late result" in s.transcript())
        turn.reply()
        turn.finish()
        await s.until(lambda: "done" in s.transcript())
        text = s.transcript()
        assert text.index("the first reply") < text.index("late result") < text.index("the second reply")
        assert text.count("reply") == 2


async def test_thoughts_are_one_folded_line_that_unfolds() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        turn.delta("thinking", "secret plans\nin two lines")
        await s.until(lambda: "Thinking…" in s.transcript())
        row = s.view.query_one(ThinkingRow)
        assert "secret" not in s.transcript()
        row.fold(True)
        await s.until(lambda: "in two lines" in s.transcript())
        turn.delta("text", "so")
        turn.reply()
        await s.until(lambda: row.seq > 0)
        assert len(s.view.query(ThinkingRow)) == 1
        assert "Thinking…" not in s.transcript()


async def test_a_running_commands_output_is_live_bounded_and_replaced_by_its_result() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        call = turn.call("run", True, command="make")
        for number in range(2000):
            turn.delta("output", f"line {number}\n", call)
        await s.until(lambda: "line 1999" in s.transcript())
        assert s.transcript().count("line ") <= 6
        turn.result(call, "all of it", exit=0)
        await s.until(lambda: "exit 0" in s.transcript())
        assert "line 1999" not in s.transcript()
        row = s.view.query_one(ToolRow)
        assert row.state == "ok"
        assert len(s.view.query(ToolRow)) == 1


async def test_output_that_comes_before_its_call_is_drawn_is_kept() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        s.gateway.gates[c.RenderEvents] = asyncio.Event()
        call = turn.call("run", True, command="make")
        turn.delta("output", "early words\n", call)
        await s.pilot.pause()
        s.gateway.gates.pop(c.RenderEvents).set()
        await s.until(lambda: "early words" in s.transcript())


async def test_foreign_text_is_neither_markup_nor_control_sequence() -> None:
    nasty = "[red]a[/red] [@click=app.quit]b[/] \x1b[2J\x1b]52;c;AAAA\x07 \u202eevil"
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        await s.send(nasty)
        turn.delta("text", nasty)
        await s.until(lambda: prose(s))
        turn.reply()
        call = turn.call("run", True, command=nasty)
        turn.delta("output", nasty + "\n", call)
        turn.result(call, nasty)
        s.gateway.store(turn.session, e.Incident("bad-thing", nasty))
        s.gateway.store(turn.session, e.SystemNote(nasty, about=nasty[:20]))
        turn.finish("error", nasty)
        s.gateway.change(turn.session, title=nasty)
        await s.until(lambda: "an error ended it" in s.transcript())
        await s.pilot.press("f2")
        await s.calm()
        everything = s.text() + s.transcript()
        assert "[red]a[/red]" in everything
        assert not any(mark in everything for mark in "\x1b\x07\u202e")


async def test_what_streams_in_another_conversation_is_not_shown_here() -> None:
    gateway = FakeGateway()
    other = gateway.make("other", branch="conv/o")
    async with screen(gateway) as s:
        await begun(s)
        elsewhere = gateway.begin(other)
        elsewhere.delta("text", "not here")
        elsewhere.reply()
        elsewhere.finish()
        await s.until(lambda: other in s.app.state.unread)
        assert "not here" not in s.transcript()


async def test_a_cut_turn_leaves_no_live_row_behind() -> None:
    async with screen(FakeGateway()) as s:
        turn = await begun(s)
        turn.delta("text", "never stored")
        await s.until(lambda: "never stored" in s.transcript())
        turn.finish("error")
        await s.until(lambda: "an error ended it" in s.transcript())
        await s.until(lambda: "never stored" not in s.transcript())
        assert s.view.transcript.lively == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (20, 5)])
async def test_a_whole_scene_ends_the_same_live_and_from_the_log(size: tuple[int, int]) -> None:
    gateway = FakeGateway()
    gateway.script = fix_parser
    async with screen(gateway, size=size) as s:
        await s.send("fix it")
        await s.until(lambda: "done" in s.transcript())
        await s.calm()
        live, session = s.transcript(), s.app.state.current
    async with screen(gateway, size=size, conversation=session) as s:
        await s.until(lambda: "done" in s.transcript())
        await s.until(lambda: "fix it" in s.transcript())
        assert s.transcript() == live
    if size[0] > 40:
        assert all(line in live for line in ("1. parse raises ParseError", "✓ run make test  exit 0 · 2.4 s"))
    assert ANSWER[:10] in live.replace("\n", " ")
