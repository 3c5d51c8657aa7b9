"""Reading: find words in all of a conversation, go from block to block, copy one, fold one."""

from __future__ import annotations

import base64

import pytest
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import ANSWER, PATCH, played
from tests.support.fake_screen import Shown, screen
from thetis_tui.widgets.lineblock import places
from thetis_tui.widgets.rows.base import Row
from thetis_tui.widgets.rows.texts import ProseRow, ThinkingRow, UserRow
from thetis_tui.widgets.rows.tool import ToolRow


def long_one(rounds: int = 60) -> tuple[FakeGateway, str]:
    gateway = FakeGateway()
    session = gateway.make("A long one", branch="conv/0a0b0c0d")
    for n in range(rounds):
        gateway.store(session, e.User(f"question {n} about the {'heron' if n in (3, 40) else 'sparrow'}"))
        gateway.store(session, e.Assistant([{"type": "text", "text": f"answer {n}\n\n" + "line\n\n" * 8}], "m"))
    return gateway, session


def in_view(s: Shown, row: Row | None) -> bool:
    return row is not None and s.view.transcript.region.overlaps(row.region)


async def test_words_are_found_in_what_is_not_mounted_and_walked_newest_first() -> None:
    gateway, session = long_one()
    async with screen(gateway, conversation=session) as s:
        assert "question 3 " not in s.transcript()
        await s.pilot.press("ctrl+f", *"heron")
        await s.until(lambda: "1 of 2" in s.text() and "question 40 about the heron" in s.text(), "the newer")
        assert [ask.session for ask in gateway.asked(c.Search)][-1] == session
        await s.pilot.press("enter")
        await s.until(lambda: "2 of 2" in s.text() and "question 3 about the heron" in s.text(), "the older")
        await s.pilot.press("down")
        await s.until(lambda: "1 of 2" in s.text() and "question 40 about the heron" in s.text(), "back")


async def test_what_is_found_stands_out_until_the_end_and_the_reader_stays() -> None:
    gateway, session = long_one()
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("ctrl+f", *"heron")
        await s.until(lambda: "1 of 2" in s.text() and "question 40 about the heron" in s.text())
        row = s.view.transcript.row_of(81)
        await s.until(lambda: row is not None and row._words == ("heron",))
        await s.calm()
        assert row is not None
        before = s.view.transcript.scroll_y
        await s.pilot.press("escape")
        await s.until(lambda: s.desk.prompt.has_focus)
        assert row._words == () and s.view.transcript.scroll_y == before


async def test_nothing_found_says_so() -> None:
    gateway, session = long_one(3)
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("ctrl+f", *"walrus")
        await s.until(lambda: "nothing found" in s.text())


def test_places_in_a_line_keep_to_its_characters() -> None:
    assert places("Heron heron", ("heron",)) == [(0, 5), (6, 11)]
    assert places("İstanbul heron", ("heron",)) == []  # its lower case is longer: no place could be right
    assert places("anything", ()) == []


async def test_blocks_are_marked_one_by_one_and_the_prompt_keeps_the_keys() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    played(gateway, session, "Fix it.")
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("alt+up")
        await s.until(lambda: s.view.transcript.chosen is not None)
        first = s.view.transcript.chosen
        await s.pilot.press("alt+up")
        await s.until(lambda: s.view.transcript.chosen is not first)
        assert in_view(s, s.view.transcript.chosen)
        await s.pilot.press("x")
        assert s.desk.prompt.text == "x"
        await s.pilot.press("backspace", "escape")
        await s.until(lambda: s.view.transcript.chosen is None)


async def test_a_marked_block_alone_is_folded() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    played(gateway, session, "Fix it.")
    async with screen(gateway, conversation=session) as s:
        thought = s.view.transcript.query(ThinkingRow).first()
        s.view.transcript.choose(thought)
        await s.pilot.press("ctrl+o")
        await s.until(lambda: thought.unfolded)
        assert not any(row.unfolded for row in s.view.transcript.query(ToolRow))


async def test_one_key_jumps_to_what_was_said_before_and_back_to_the_end() -> None:
    gateway, session = long_one(6)
    async with screen(gateway, conversation=session, size=(80, 20)) as s:
        for n in (5, 4, 3):
            await s.pilot.press("alt+pageup")
            row = s.view.transcript.chosen
            assert isinstance(row, UserRow) and f"question {n} " in row.text and in_view(s, row)
        assert not s.view.transcript.following
        for _ in range(3):
            await s.pilot.press("alt+pagedown")
        await s.until(lambda: s.view.transcript.following and s.view.transcript.chosen is None, "at the end")


@pytest.mark.parametrize(("kind", "wanted"), [(ProseRow, ANSWER.strip()), (UserRow, "Fix it.")])
async def test_a_block_is_copied_as_it_was_written(kind: type[Row], wanted: str) -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    played(gateway, session, "Fix it.")
    async with screen(gateway, conversation=session) as s:
        s.view.transcript.choose(list(s.view.transcript.query(kind))[-1])
        await s.pilot.press("alt+c")
        await s.until(lambda: s.app.clipboard)
        assert s.app.clipboard.strip() == wanted


async def test_without_a_mark_the_last_reply_is_copied_and_a_patch_is_whole() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    played(gateway, session, "Fix it.")
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("alt+c")
        await s.until(lambda: s.app.clipboard.strip() == ANSWER.strip())
        edit = next(row for row in s.view.transcript.query(ToolRow) if row.call and "edit" in row.call.title)
        assert PATCH.strip() in edit.source()


async def test_the_clipboard_is_reached_through_the_terminal() -> None:
    written: list[str] = []
    gateway, session = long_one(1)
    async with screen(gateway, conversation=session) as s:
        driver = s.app._driver
        assert driver is not None
        driver.write = written.append  # type: ignore[method-assign]
        await s.pilot.press("alt+pageup", "alt+c")
        await s.until(lambda: any("\x1b]52;c;" in text for text in written), "OSC 52")
    sent = next(text for text in written if "\x1b]52;c;" in text)
    assert base64.b64decode(sent.split(";c;")[1].split("\a")[0]).decode() == "question 0 about the sparrow"
