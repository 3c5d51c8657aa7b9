"""The log's filter: kinds and words, over logs of any length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import played
from tests.support.fake_screen import screen
from thetis_tui.logfilter import Filter, chosen, parsed


def event(seq: int, body: e.Body) -> e.Event:
    return e.Event("s", seq, str(seq), seq * 1000, e.kind_of(body), 1, e.encode_body(body), "")


def test_names_of_kinds_choose_kinds_and_the_rest_is_looked_for() -> None:
    assert parsed("user") == Filter(frozenset({"user"}))
    assert parsed("tool ERROR") == Filter(frozenset({"tool-invocation", "tool-result"}), ("error",))
    assert parsed("incident assistant x y") == Filter(frozenset({"incident", "assistant"}), ("x", "y"))
    assert not parsed("  ")


def test_kind_and_every_word_must_fit() -> None:
    result = event(1, e.ToolResult("c", "error", "No such file: Parser.py", {}))
    assert parsed("tool parser error").takes(result)
    assert not parsed("tool parser walrus").takes(result)
    assert not parsed("user parser").takes(result)


@given(st.lists(st.sampled_from(["heron", "sparrow"]), max_size=1300), st.integers(1, 700))
async def test_all_that_matches_is_found_once_whatever_the_pages_hold(texts: list[str], page: int) -> None:
    log = [event(n, e.User(text)) for n, text in enumerate(texts, 1)]

    async def read(after: int, limit: int) -> c.EventPage:
        return c.EventPage(log[after : after + min(limit, page)], len(log))

    found: list[int] = []
    async for hits in chosen(read, len(log), parsed("heron")):
        found[:0] = [seq for seq, _ in hits]
    assert found == [one.seq for one in log if b"heron" in one.raw]


async def test_the_pane_shows_what_matches_and_all_of_it_again_after_escape() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    for n in range(60):
        played(gateway, session, f"question {n}")
    async with screen(gateway, conversation=session, size=(150, 40)) as s:
        await s.pilot.press("shift+f2", *"user", "space", *"question", "space", "4", "2")
        await s.until(lambda: s.desk.pane.lines.rows == 1 and "question 42" in s.text(), "the one")
        assert "1 of" in s.text()
        gateway.store(session, e.User("question 42 again"))
        await s.until(lambda: s.desk.pane.lines.rows == 2, "a new one that matches")
        gateway.store(session, e.User("something else"))
        await s.pilot.press("down", "enter")
        await s.until(lambda: s.app.screen is not s.desk, "the event in full")
        await s.pilot.press("escape", "shift+f2", "escape")
        await s.until(lambda: s.desk.pane.lines.rows == len(gateway.logs[session]), "all of it")
        await s.pilot.press("escape")
        await s.until(lambda: s.desk.prompt.has_focus)


async def test_a_filter_in_the_prompt_opens_the_log_with_it() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    played(gateway, session, "question")
    async with screen(gateway, conversation=session, size=(150, 40)) as s:
        await s.send("/log turn")
        await s.until(lambda: s.desk.pane.lines.rows == 1 and "turn-finished" in s.text())
