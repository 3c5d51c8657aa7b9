"""What opens over the desk to be read: the log, one event, the diff, search, help, the palette."""

from __future__ import annotations

from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import PATCH, furnished, played
from tests.support.fake_screen import screen
from thetis_tui.commands import ALL, BY_ID, BY_SLASH
from thetis_tui.screens.diff import DiffScreen
from thetis_tui.screens.event import EventScreen
from thetis_tui.screens.help import HelpScreen, Line
from thetis_tui.screens.main import Desk
from thetis_tui.screens.search import SearchScreen
from thetis_tui.widgets.eventlog import PAGE, PAGES


async def test_the_log_stands_beside_the_transcript_and_grows() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    played(gateway, session, "fix it")
    async with screen(gateway, conversation=session, size=(140, 30)) as s:
        await s.pilot.press("f2")
        await s.until(lambda: "tool-invocation read" in s.text())
        assert "Log · 13 events" in s.text()
        gateway.store(session, e.SystemNote("newest of all"))
        await s.until(lambda: "newest of all" in s.text())
        await s.until(lambda: "Log · 14 events" in s.text())
        await s.pilot.press("f2")
        await s.until(lambda: not s.desk.pane.display)


async def test_a_log_of_100000_events_costs_what_is_on_the_screen() -> None:
    gateway = FakeGateway()
    session = gateway.make("long", branch="conv/l")
    event = gateway.store(session, e.User("x"))
    gateway.logs[session] = [
        e.Event(session, seq, event.event_id, event.ts_ms, "user", 1, b'{"kind":"user","text":"word %d"}' % seq)
        for seq in range(1, 100_001)
    ]
    gateway.lines[session] = gateway.lines[session]
    gateway.change(session, last_seq=100_000)
    async with screen(gateway, conversation=session, size=(140, 30)) as s:
        gateway.asks.clear()
        await s.pilot.press("f2")
        await s.until(lambda: "word 100000" in s.text())
        lines = s.desk.pane.lines
        for _ in range(PAGES + 10):
            lines.scroll_to(y=max(0, lines.scroll_y - 3 * PAGE), animate=False, immediate=True)
            await s.pilot.pause()
        await s.until(lambda: "…" not in s.text().split("Log", 1)[1][:200])
        assert len(lines._pages) <= PAGES
        assert sum(ask.limit for ask in gateway.asked(c.ReadEvents)) < 10_000


async def test_an_event_can_be_read_in_full() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    gateway.store(session, e.ToolInvocation("c1", "run", {"command": "make [b]test[/b]\x1b[0m"}, "op", True))
    async with screen(gateway, conversation=session, size=(140, 30)) as s:
        await s.pilot.press("f2")
        await s.until(lambda: "tool-invocation" in s.text())
        s.desk.pane.lines.focus()
        await s.pilot.press("home", "enter")
        await s.until(lambda: isinstance(s.app.screen, EventScreen))
        await s.until(lambda: "make [b]test[/b]" in s.text())
        assert "c0ffee" in s.text()
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.desk)


async def test_the_log_follows_the_conversation_that_is_open() -> None:
    gateway = FakeGateway()
    one, two = gateway.make("one", branch="conv/1"), gateway.make("two", branch="conv/2")
    gateway.store(one, e.User("of one"))
    gateway.store(two, e.User("of two"))
    async with screen(gateway, conversation=one, size=(140, 30)) as s:
        await s.pilot.press("f2")
        await s.until(lambda: "user of one" in s.text())
        await s.desk.open(two)
        await s.until(lambda: "user of two" in s.text())
        assert "user of one" not in s.text()


async def test_the_diff_of_a_conversation() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    gateway.diff = c.DiffText(patch=PATCH, files=[("engine/parser.py", 4, 2)])
    async with screen(gateway, conversation=session, size=(120, 40)) as s:
        await s.pilot.press("f3")
        await s.until(lambda: isinstance(s.app.screen, DiffScreen))
        await s.until(lambda: "1 file changed · +4 -2" in s.text())
        assert "44 + " in s.text()
        await s.pilot.press("q")
        await s.until(lambda: s.app.screen is s.desk)


async def test_a_diff_that_cannot_be_made_is_said() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    gateway.errors[c.GetDiff] = RemoteError("The branch conv/1 is gone.")
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("f3")
        await s.until(lambda: s.toasts() == ["The branch conv/1 is gone."])
        assert s.app.screen is s.desk


async def test_nothing_changed_is_said_too() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", branch="conv/1")
    async with screen(gateway, conversation=session) as s:
        await s.send("/diff")
        await s.until(lambda: "Nothing has changed" in s.text())


async def test_search_finds_in_every_conversation_and_opens_the_place() -> None:
    gateway = furnished()
    session = gateway.make("the haystack", branch="conv/h")
    for number in range(300):
        gateway.store(session, e.User(f"straw {number}" if number != 50 else "the [needle]"))
    async with screen(gateway) as s:
        await s.pilot.press("f5")
        await s.until(lambda: isinstance(s.app.screen, SearchScreen))
        await s.pilot.press(*"needle")
        await s.until(lambda: "1 hit" in s.text())
        assert "the haystack" in s.text()
        await s.pilot.press("enter")
        await s.until(lambda: s.app.state.current == session)
        await s.until(lambda: "the [needle]" in s.text())
        await s.calm()
        assert "straw 49" in s.transcript()
        assert "straw 299" not in s.transcript()
        assert not s.view.transcript.following


async def test_search_with_words_in_the_prompt_and_without_hits() -> None:
    async with screen(furnished()) as s:
        await s.send("/search nowhere to be found")
        await s.until(lambda: "Nothing found." in s.text())
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.desk)


async def test_a_search_that_fails_is_said_in_place() -> None:
    gateway = furnished()
    gateway.errors[c.Search] = RemoteError("The index is being rebuilt.")
    async with screen(gateway) as s:
        await s.send("/search x")
        await s.until(lambda: "The index is being rebuilt." in s.text())


async def test_the_palette_runs_commands() -> None:
    async with screen(furnished()) as s:
        await s.pilot.press("ctrl+p")
        await s.until(lambda: s.app.screen is not s.desk)
        await s.pilot.press(*"the theme")
        await s.until(lambda: "Switch the theme" in s.text())
        await s.pilot.pause(0.3)
        await s.pilot.press("enter")
        await s.until(lambda: s.app.theme == "thetis-light")


def test_every_command_is_in_the_help_with_its_keys() -> None:
    page = "\n".join(line.content.plain for line in HelpScreen().lines(100) if isinstance(line, Line))
    for command in ALL:
        assert command.title in page, command.id
        for key in command.key_names.split(", "):
            assert key in page
        if command.slash:
            assert f"/{command.slash}" in page


def test_ids_slashes_and_keys_are_each_ones_own() -> None:
    assert len(BY_ID) == len(ALL)
    assert len(BY_SLASH) == sum(bool(command.slash) for command in ALL)
    keys = [key for command in ALL for key in command.keys.split(",") if key]
    shared = {key for key in keys if keys.count(key) > 1}
    assert shared <= {"escape", "ctrl+r"}, "only where at most one of them applies at a time"


def test_every_binding_can_be_remapped() -> None:
    for binding in Desk.BINDINGS:
        assert binding.id.startswith("thetis.")


async def test_every_command_says_whether_it_applies_in_every_state() -> None:
    gateway = furnished()
    async with screen(gateway) as s:
        for session in ("", *gateway.lines):
            s.app.state.current = session
            for link in ("connecting", "ready", "failed", "reconnecting"):
                s.app.state.link = link
                for command in ALL:
                    assert command.applies(s.app) in (True, False)
