"""Typing: everything lands, literally, in order; Enter sends, nothing else does."""

from __future__ import annotations

from textual import events
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import furnished
from tests.support.fake_screen import screen
from thetis_tui.chips import KEPT, Chips
from thetis_tui.widgets.prompt import Prompt


async def test_enter_sends_and_shift_enter_is_a_new_line() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("one")
        await s.pilot.press("shift+enter")
        await s.type("two")
        await s.pilot.press("ctrl+j")
        await s.type("three")
        await s.pilot.press("enter")
        await s.until(lambda: s.gateway.asked(c.Submit))
        assert s.gateway.asked(c.Submit)[0].text == "one\ntwo\nthree"
        assert s.desk.prompt.text == ""
        assert [m.text for m in s.got(Prompt.Sent)] == ["one\ntwo\nthree"]


async def test_keys_that_arrive_together_keep_their_order() -> None:
    async with screen(FakeGateway()) as s:
        s.keys(("a", "a"), ("b", "b"), ("backspace", "\x7f"), ("c", "c"), ("enter", "\r"), ("d", "d"))
        await s.until(lambda: s.gateway.asked(c.Submit))
        assert s.gateway.asked(c.Submit)[0].text == "ac"
        assert s.desk.prompt.text == "d"


async def test_an_empty_enter_sends_nothing() -> None:
    async with screen(FakeGateway()) as s:
        await s.pilot.press("enter", "space", "enter")
        await s.calm()
        assert s.gateway.asked(c.Submit) == []


async def test_a_paste_is_literal_whatever_is_in_it() -> None:
    async with screen(FakeGateway()) as s:
        s.app.post_message(events.Paste("/quit\r\n[b]x[/b]\r\x1b[31mred\n"))
        await s.until(lambda: s.desk.prompt.text)
        assert s.desk.prompt.text == "/quit\n[b]x[/b]\n\u241b[31mred\n"
        assert s.gateway.asked(c.Submit) == []
        await s.pilot.press("enter")
        await s.until(lambda: s.gateway.asked(c.Submit))
        assert s.gateway.asked(c.Submit)[0].text == "/quit\n[b]x[/b]\n\u241b[31mred"


async def test_a_large_paste_is_a_chip_and_all_of_it_is_sent() -> None:
    log = "a line of the log\n" * 60_000
    async with screen(FakeGateway()) as s:
        await s.type("look: ")
        s.app.post_message(events.Paste(log))
        await s.until(lambda: "⟦text 1: 60001 lines⟧" in s.text())
        await s.type(" thanks")
        assert len(s.desk.prompt.text) < 60
        await s.pilot.press("enter")
        await s.until(lambda: s.gateway.asked(c.Submit))
        assert s.gateway.asked(c.Submit)[0].text == f"look: {log} thanks"
        await s.until(lambda: not s.view.pending)
        s.gateway.turns[s.app.state.current].finish()
        await s.pilot.press("up")
        await s.until(lambda: "⟦text 2: 60001 lines⟧" in s.desk.prompt.text)
        await s.pilot.press("enter")
        await s.until(lambda: len(s.gateway.asked(c.Submit)) == 2)
        assert s.gateway.asked(c.Submit)[1].text == f"look: {log} thanks"


def test_a_chip_is_its_text_only_while_it_is_whole_and_known() -> None:
    chips = Chips()
    text = "x" * 100_000
    chip = chips.fold(text)
    assert chips.unfold(f"a {chip} b {chip}") == f"a {text} b {text}"
    assert chips.unfold(chip[:-1]) == chip[:-1]
    assert chips.unfold("⟦text 99: 3 lines⟧") == "⟦text 99: 3 lines⟧"
    assert chips.fold("short") == "short"
    for _ in range(KEPT):
        chips.fold(text)
    assert chips.unfold(chip) == chip


async def test_up_and_down_walk_what_was_sent() -> None:
    gateway = FakeGateway()
    session = gateway.make("old", branch="conv/1")
    gateway.store(session, e.User("said before"))
    async with screen(gateway, conversation=session) as s:
        await s.until(lambda: "said before" in s.transcript())
        await s.send("newer")
        await s.until(lambda: gateway.asked(c.Submit))
        await s.type("draft")
        for key, text in (("up", "newer"), ("up", "said before"), ("up", "said before"), ("down", "newer"), ("down", "draft")):
            await s.pilot.press(key)
            await s.until(lambda wanted=text: s.desk.prompt.text == wanted, text)


async def test_up_moves_within_a_text_of_several_lines() -> None:
    async with screen(FakeGateway()) as s:
        s.app.state.history.add("sent before")
        await s.type("one\ntwo")
        await s.pilot.press("up")
        await s.calm()
        assert s.desk.prompt.text == "one\ntwo"
        await s.pilot.press("up")
        await s.until(lambda: s.desk.prompt.text == "sent before")


async def test_typed_characters_land_in_the_prompt_wherever_the_focus_is() -> None:
    async with screen(furnished()) as s:
        s.desk.sidebar.list.focus()
        await s.pilot.press("x", "y")
        await s.until(lambda: s.desk.prompt.text == "xy")
        assert s.desk.prompt.has_focus


async def test_drafts_stay_with_their_conversation() -> None:
    gateway = furnished()
    one, two = list(gateway.lines)[:2]
    async with screen(gateway) as s:
        await s.desk.open(one)
        await s.type("for one")
        await s.desk.open(two)
        assert s.desk.prompt.text == ""
        await s.type("for two")
        await s.desk.open(one)
        assert s.desk.prompt.text == "for one"
        await s.desk.open(two)
        assert s.desk.prompt.text == "for two"


async def test_tab_goes_through_the_examples_and_typing_over_one_keeps_it() -> None:
    async with screen(FakeGateway()) as s:
        await s.pilot.press("tab")
        await s.until(lambda: s.desk.prompt.text == "what is in this repository?")
        await s.pilot.press("tab")
        await s.until(lambda: s.desk.prompt.text == "search TODO")
        await s.type("s")
        assert s.desk.prompt.text == "search TODOs"


async def test_an_example_can_be_clicked() -> None:
    async with screen(FakeGateway()) as s:
        await s.until(lambda: "search TODO" in s.text())
        row = next(y for y, line in enumerate(s.text().splitlines()) if "search TODO" in line)
        column = s.text().splitlines()[row].index("search TODO")
        await s.pilot.click(offset=(column, row))
        await s.until(lambda: s.desk.prompt.text == "search TODO")
        assert s.desk.prompt.has_focus
        assert s.gateway.asked(c.Submit) == []


async def test_slash_commands_are_offered_completed_and_run() -> None:
    async with screen(furnished()) as s:
        await s.type("/th")
        await s.until(lambda: "/theme" in s.text())
        await s.pilot.press("tab")
        await s.until(lambda: s.desk.prompt.text == "/theme ")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.theme == "thetis-light")
        assert s.gateway.asked(c.Submit) == []


async def test_enter_takes_the_marked_completion() -> None:
    async with screen(furnished()) as s:
        await s.type("/the")
        await s.until(lambda: s.desk.prompt.completion == "/theme")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.theme == "thetis-light")


async def test_a_completion_of_something_else_is_never_run() -> None:
    async with screen(furnished()) as s:
        await s.type("/")
        await s.until(lambda: s.desk.prompt.completion == "/new")
        s.keys(("t", "t"), ("h", "h"), ("e", "e"), ("m", "m"), ("enter", "\r"))
        await s.until(lambda: s.toasts() or s.app.theme == "thetis-light")
        assert s.app.state.current == ""


async def test_an_unknown_command_is_said_and_stays_in_the_prompt() -> None:
    async with screen(FakeGateway()) as s:
        await s.send("/nonsense")
        await s.until(lambda: s.toasts())
        assert "no command /nonsense" in s.toasts()[0]
        assert s.desk.prompt.text == "/nonsense"
        assert s.gateway.asked(c.Submit) == []


async def test_a_path_is_a_message() -> None:
    async with screen(FakeGateway()) as s:
        await s.send("/etc/hosts is wrong")
        await s.until(lambda: s.gateway.asked(c.Submit))


async def test_ctrl_d_quits_only_an_empty_prompt() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("ab")
        await s.pilot.press("left", "ctrl+d")
        assert s.desk.prompt.text == "a"
        assert s.app.return_code is None
        await s.pilot.press("backspace", "ctrl+d")
        await s.until(lambda: s.app.return_code == 0)


async def test_ctrl_c_quits_when_pressed_twice_and_keeps_the_draft_when_once() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("draft")
        await s.pilot.press("ctrl+c")
        await s.until(lambda: s.toasts())
        assert "again to quit" in s.toasts()[0]
        assert s.desk.prompt.text == "draft"
        assert s.app.return_code is None
        await s.pilot.press("ctrl+c")
        await s.until(lambda: s.app.return_code == 0)


async def test_two_slow_ctrl_c_do_not_quit() -> None:
    async with screen(FakeGateway()) as s:
        now = [100.0]
        s.app.state.now = lambda: now[0]
        await s.pilot.press("ctrl+c")
        now[0] += 60
        await s.pilot.press("ctrl+c")
        await s.calm()
        assert s.app.return_code is None


async def test_ctrl_c_copies_what_is_selected() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("take this")
        s.desk.prompt.select_all()
        await s.pilot.press("ctrl+c", "ctrl+c")
        await s.calm()
        assert s.app.clipboard == "take this"
        assert s.app.return_code is None


async def test_help_opens_from_an_empty_prompt_only() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("a?")
        assert s.desk.prompt.text == "a?"
        await s.pilot.press("backspace", "backspace", "question_mark")
        await s.until(lambda: "Typing" in s.text())
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.desk)
