"""Home: every conversation with how it stands, what can be done with it from there, and search over all transcripts."""

from __future__ import annotations

from decimal import Decimal

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.spending import Spent

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import furnished, played
from tests.support.fake_screen import Shown, screen
from thetis_tui.overview import STATES, Card, cards_of
from thetis_tui.screens.dialog import Dialog
from thetis_tui.screens.home import KEYS, HomeScreen
from thetis_tui.state import State


async def home(s: Shown) -> HomeScreen:
    await s.pilot.press("f4")
    await s.until(lambda: isinstance(s.app.screen, HomeScreen), "home")
    await s.pilot.pause()
    assert isinstance(s.app.screen, HomeScreen)
    return s.app.screen


async def at(s: Shown, title: str) -> None:
    """Move the cursor to the conversation with that title."""
    over = s.app.screen
    assert isinstance(over, HomeScreen)
    over.list.cursor = next(n for n, x in enumerate(over.list.entries) if isinstance(x, Card) and x.title == title)


def fold(*lines: c.Conversation) -> State:
    state = State(now=lambda: 100.0, wall_ms=lambda: 1_700_000_000_000)
    state.replace(list(lines))
    return state


def line(session: str, **fields: object) -> c.Conversation:
    facts = {"id": session, "title": session, "mode": "agent", "model": "m", "state": "idle", "branch": "conv/1", "worktree": "",
             "created_ms": 1, "updated_ms": 1, "last_seq": 1, **fields}
    return c.Conversation(**facts)  # type: ignore[arg-type]


def test_each_conversation_has_one_of_the_five_states() -> None:
    state = fold(line("a", state="running"), line("b", asking=1), line("c", state="interrupted"), line("d", state="damaged"),
                 line("e"), line("f"), line("g"))
    state.ended.update(f="cancelled", g="error")
    assert {card.session: card.state for card in cards_of(state)} == {
        "a": "running", "b": "needs you", "c": "stopped", "d": "error", "e": "idle", "f": "stopped", "g": "error"}
    assert {card.state for card in cards_of(state)} == set(STATES)


def test_a_new_turn_wipes_out_how_the_last_one_ended() -> None:
    state = fold(line("a"))
    for body in (e.TurnFinished("t", "error"), e.TurnStarted("u", "agent", "m")):
        state.hear(c.EventStored(e.Event("a", 1, "x", 1, e.kind_of(body), 1, e.encode_body(body), "")))
    assert state.ended == {}


def test_archived_ones_are_listed_when_asked_for_and_found_by_words() -> None:
    state = fold(line("kept"), line("gone", archived=True))
    assert [x.session for x in cards_of(state)] == ["kept"]
    assert {x.session for x in cards_of(state, archived=True)} == {"kept", "gone"}
    assert [x.session for x in cards_of(state, "GON")] == ["gone"]


async def test_it_shows_title_state_branch_age_cost_and_what_runs() -> None:
    gateway = furnished()
    gateway.make("Costly", branch="conv/00112233", spent=Spent(1, 1000, 10, cost=Decimal("0.42")))
    async with screen(gateway, size=(120, 30)) as s:
        await home(s)
        shown = s.text()
        for words in ("Costly", "$0.42", "conv/00112233", "running", "stopped", "working ·",
                      "5 conversations · 1 running · 1 stopped"):
            assert words in shown


async def test_what_runs_there_is_live() -> None:
    gateway = furnished()
    async with screen(gateway, size=(120, 30)) as s:
        session = next(x.id for x in gateway.lines.values() if x.state == "running")
        await home(s)
        gateway.store(session, e.ToolInvocation("c1", "run", {"command": "make check"}, "tool:run", True, "t"))
        await s.until(lambda: "run make check" in s.text(), "what it does now")


async def test_enter_opens_and_escape_goes_back() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        await home(s)
        await at(s, "Rename the configuration keys")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.screen is s.desk and s.app.state.conversation, "opened")
        assert s.app.state.conversation and s.app.state.conversation.title == "Rename the configuration keys"
        await home(s)
        await s.pilot.press("escape")
        assert s.app.screen is s.desk


async def test_search_finds_titles_and_places_in_transcripts() -> None:
    gateway = furnished()
    session = gateway.make("Of parsers", branch="conv/0a0b0c0d")
    played(gateway, session, "The zebra crashes on a closing bracket.")
    async with screen(gateway, size=(100, 30)) as s:
        await home(s)
        await s.pilot.press("slash", *"zebra")
        await s.until(lambda: "0 conversations, 1 place" in s.text(), "the place")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.state.current == session and s.app.screen is s.desk, "opened at the place")
        await s.until(lambda: "zebra" in s.transcript())


async def test_escape_leaves_the_search_before_it_leaves_home() -> None:
    async with screen(furnished()) as s:
        over = await home(s)
        await s.pilot.press("slash", "x", "escape")
        assert s.app.screen is over and not over.input.value and over.list.has_focus


async def test_renaming_and_archiving_concern_the_one_under_the_cursor_and_open_nothing() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        await home(s)
        await at(s, "Rename the configuration keys")
        await s.pilot.press("a")
        await s.until(lambda: gateway.asked(c.ChangeSetting), "archived")
        asked = gateway.asked(c.ChangeSetting)[0]
        assert gateway.lines[asked.session].title == "Rename the configuration keys"
        assert (asked.name, asked.value) == ("archived", "true")
        assert s.app.state.current == ""
        await s.until(lambda: "1 archived" in s.text(), "counted")
        assert "Rename the configuration keys" not in s.text()
        await s.pilot.press("v")
        assert "Rename the configuration keys" in s.text()


async def test_deleting_says_what_would_be_lost_and_what_stays() -> None:
    gateway = FakeGateway()
    session = gateway.make("Old work", branch="conv/0a0b0c0d", last_seq=12)
    gateway.diff = c.DiffText("", [("a.py", 3, 1), ("b.py", 1, 0)])
    async with screen(gateway) as s:
        await home(s)
        await s.pilot.press("d")
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed, "asked")
        shown = " ".join(s.text().split())
        for words in ("Delete Old work?", "the log of 12 events", "conv/0a0b0c0d", "2 changed files (+4 -1)"):
            assert words in shown
        assert not gateway.asked(c.DeleteConversation)
        await s.pilot.press("x")
        await s.until(lambda: gateway.asked(c.DeleteConversation), "deleted")
        await s.until(lambda: session not in s.app.state.conversations)
        assert "Old work" not in s.text()


async def test_what_runs_is_not_deleted() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        await home(s)
        await at(s, "Why is start-up slow on cold caches?")
        await s.pilot.press("d")
        await s.until(lambda: any("turn is running" in toast for toast in s.toasts()), "said")
        assert not isinstance(s.app.screen, Dialog)


async def test_deleting_the_open_one_leaves_a_new_one_open() -> None:
    gateway = FakeGateway()
    session = gateway.make("Old work", branch="conv/0a0b0c0d")
    async with screen(gateway, conversation=session) as s:
        s.app.perform("delete")
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed, "asked")
        await s.pilot.press("x")
        await s.until(lambda: s.app.state.current == "" and session not in s.app.state.conversations, "gone")
        assert all(view.session != session for view in s.desk._opened())


async def test_one_key_goes_back_and_forth_and_one_to_each() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        await s.pilot.press("alt+2")
        await s.until(lambda: s.app.state.current == s.app.state.listed()[1].id, "the second")
        await s.pilot.press("alt+1")
        await s.until(lambda: s.app.state.current == s.app.state.listed()[0].id, "the first")
        await s.pilot.press("alt+0")
        await s.until(lambda: s.app.state.current == s.app.state.listed()[1].id, "back")
        await s.pilot.press("alt+0")
        await s.until(lambda: s.app.state.current == s.app.state.listed()[0].id, "forth")


async def test_every_key_of_the_foot_does_something() -> None:
    bound = {key for binding in HomeScreen.BINDINGS for key in getattr(binding, "key", "").split(",")}
    names = {"esc": "escape", "/": "slash"}
    assert {names.get(key, key) for key, _, command in KEYS if command or key in ("/", "v", "esc")} <= bound


async def test_titles_are_no_markup_there() -> None:
    gateway = FakeGateway()
    gateway.make("[bold]x[/bold] \x1b[31mred", branch="conv/0a0b0c0d")
    async with screen(gateway) as s:
        await home(s)
        assert "[bold]x[/bold] ␛[31mred" in s.text()
