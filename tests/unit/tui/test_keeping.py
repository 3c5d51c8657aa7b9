"""What outlives the screen: drafts (large ones whole), what was sent, and what went on while nobody looked."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui.app import ThetisApp
from thetis_tui.keeping import Keeper
from thetis_tui.state import State


def app_on(gateway: FakeGateway, keep: Path, conversation: str = "") -> ThetisApp:
    return ThetisApp(gateway.connect, conversation=conversation, keep=keep)


async def session_of(app: ThetisApp, gateway: FakeGateway, act: object = None) -> str:
    """Run an app, do something, and let it end; the prompt's text at the end."""
    async with app.run_test(size=(100, 30)) as pilot:
        shown = Shown(app, pilot, gateway, [])
        await shown.ready()
        if act is not None:
            await act(shown)  # type: ignore[operator]
        return app.desk.prompt.text


async def test_a_draft_of_each_conversation_is_there_after_a_restart(tmp_path: Path) -> None:
    gateway, keep = FakeGateway(), tmp_path / "screen.json"
    session = gateway.make("One", branch="conv/0a0b0c0d")

    async def type_both(s: Shown) -> None:
        await s.type("for a new one")
        await s.desk.open(session)
        await s.type("for the first")
        await s.until(lambda: keep.exists() and "for the first" in keep.read_text(), "written while it is typed")

    await session_of(app_on(gateway, keep), gateway, type_both)
    assert await session_of(app_on(gateway, keep), gateway) == "for a new one"
    assert await session_of(app_on(gateway, keep, session), gateway) == "for the first"


async def test_a_large_paste_in_a_draft_comes_back_as_a_chip_with_all_of_it(tmp_path: Path) -> None:
    gateway, keep = FakeGateway(), tmp_path / "screen.json"
    large = "\n".join(f"line {n}" for n in range(500))

    async def paste(s: Shown) -> None:
        s.desk.prompt.insert("see ")
        s.desk.prompt.insert(s.desk.prompt.chips.fold(large))
        s.desk.prompt.insert(" and tell")
        s.app.keep_now()

    await session_of(app_on(gateway, keep), gateway, paste)

    async def look(s: Shown) -> None:
        assert "500 lines" in s.desk.prompt.text and "line 7" not in s.desk.prompt.text
        assert s.desk.prompt.chips.unfold(s.desk.prompt.text) == f"see {large} and tell"

    await session_of(app_on(gateway, keep), gateway, look)


async def test_what_was_sent_is_in_the_history_after_a_restart_and_no_draft_is_left(tmp_path: Path) -> None:
    gateway, keep = FakeGateway(), tmp_path / "screen.json"

    async def send(s: Shown) -> None:
        await s.send("the very first words")
        await s.until(lambda: gateway.turns)
        s.app.keep_now()

    await session_of(app_on(gateway, keep), gateway, send)
    assert json.loads(keep.read_text())["drafts"] == {}

    async def walk(s: Shown) -> None:
        await s.pilot.press("up")
        await s.until(lambda: s.desk.prompt.text == "the very first words")

    await session_of(app_on(gateway, keep), gateway, walk)


async def test_what_went_on_while_nobody_looked_is_unread(tmp_path: Path) -> None:
    gateway, keep = FakeGateway(), tmp_path / "screen.json"
    seen, other = gateway.make("Seen", last_seq=4), gateway.make("Other", last_seq=9)

    async def leave(s: Shown) -> None:
        s.app.keep_now()

    await session_of(app_on(gateway, keep), gateway, leave)
    gateway.change(other, last_seq=12)
    app = app_on(gateway, keep)

    async def look(s: Shown) -> None:
        await s.until(lambda: app.state.unread == {other}, "unread")

    await session_of(app, gateway, look)
    assert seen not in app.state.unread


def test_at_the_very_first_start_nothing_is_unread(tmp_path: Path) -> None:
    gateway, state = FakeGateway(), State()
    gateway.make("One", last_seq=4)
    keeper = Keeper(tmp_path / "screen.json")
    keeper.load(state)
    state.replace(list(gateway.lines.values()))
    keeper.unread(state)
    assert state.unread == set()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"version": 9}', b'{"version": 1, "drafts": [], "seen": {"a": "x"}}', b"\xff"])
def test_a_damaged_file_costs_nothing_but_what_was_in_it(tmp_path: Path, content: bytes) -> None:
    path, state = tmp_path / "screen.json", State()
    path.write_bytes(content)
    keeper = Keeper(path)
    keeper.load(state)
    state.drafts.keep("a", "text")
    keeper.save(state)
    assert json.loads(path.read_text())["drafts"] == {"a": "text"}


def test_only_its_owner_can_read_it_and_a_second_screen_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "screen.json"
    one, two = Keeper(path), Keeper(path)
    first, second = State(), State()
    one.load(first)
    two.load(second)
    first.drafts.keep("a", "of the first")
    one.save(first)
    second.drafts.keep("b", "of the second")
    two.save(second)
    assert json.loads(path.read_text())["drafts"] == {"a": "of the first", "b": "of the second"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first.drafts.keep("a", "")
    one.save(first)
    assert json.loads(path.read_text())["drafts"] == {"b": "of the second"}


def test_a_directory_that_cannot_be_written_costs_the_drafts_alone(tmp_path: Path) -> None:
    keeper, state = Keeper(tmp_path / "nowhere/screen.json"), State()
    keeper.load(state)
    state.drafts.keep("a", "text")
    keeper.save(state)


async def test_without_a_file_nothing_is_kept_and_nothing_fails() -> None:
    async with screen(FakeGateway()) as s:
        await s.type("words")
        s.app.keep_now()
