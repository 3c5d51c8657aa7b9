"""Settings on the screen: found by words, written by the one writer, comments kept; keys and colours count at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import BindingsMap
from textual.theme import Theme
from thetis_kernel.config.loading import Layers
from thetis_kernel.gateway.settings import SettingsDoor
from thetis_kernel.protocol.settings import WriteSetting

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import Shown, screen
from thetis_tui import keymap, ownthemes
from thetis_tui.commands.base import UNPRESSED
from thetis_tui.screens.home import HomeScreen
from thetis_tui.screens.main import Desk
from thetis_tui.screens.press import PressScreen
from thetis_tui.screens.settings import SettingsScreen
from thetis_tui.themes import DARK, THEMES

MINE = "# what I like\n[worker]\nidle_minutes = 5 # short\n"


def rooted(tmp_path: Path, text: str = MINE) -> tuple[FakeGateway, Path, Path]:
    """A gateway whose settings are files: the person's, and the root's local one."""
    root, user = tmp_path / "root", tmp_path / "config.toml"
    root.mkdir()
    user.write_text(text)
    gateway = FakeGateway()
    gateway.settings = SettingsDoor(Layers(root, user))
    return gateway, user, root / "thetis.local.toml"


def page(s: Shown) -> SettingsScreen:
    assert isinstance(s.app.screen, SettingsScreen)
    return s.app.screen


async def opened(s: Shown, words: str = "") -> None:
    await s.send(f"/settings {words}".strip())
    await s.until(lambda: isinstance(s.app.screen, SettingsScreen) and page(s).chosen is not None, "the page")


async def test_a_change_goes_into_the_local_file_and_into_mine_when_i_say_so(tmp_path: Path) -> None:
    gateway, user, local = rooted(tmp_path)
    local.write_text("# of this checkout\n")
    async with screen(gateway) as s:
        await opened(s, "idle")
        assert "yours" not in local.read_text() and page(s).shown[0].key == "worker.idle_minutes"
        await s.pilot.press("enter", *["backspace"] * 8, *"7", "enter")
        await s.until(lambda: "idle_minutes" in local.read_text(), "written")
        assert local.read_text().startswith("# of this checkout\n") and user.read_text() == MINE
        await s.until(lambda: page(s).chosen is not None and page(s).chosen.source == "local")  # type: ignore[union-attr]
        await s.pilot.press("tab", "enter", *["backspace"] * 8, *"9", "enter")
        await s.until(lambda: "9" in user.read_text())
        assert user.read_text() == MINE.replace("5", "9")
        await s.until(lambda: any("wins" in text for text in s.toasts()), "the local file still says 7")
        await s.pilot.press("delete")
        await s.until(lambda: "idle_minutes" not in local.read_text(), "taken out of where it is said")
        assert "9" in user.read_text()


async def test_what_does_not_fit_changes_nothing_and_says_why(tmp_path: Path) -> None:
    gateway, user, local = rooted(tmp_path)
    async with screen(gateway) as s:
        await opened(s, "idle")
        await s.pilot.press("enter", *["backspace"] * 8, *"soon", "enter")
        await s.until(lambda: any("idle_minutes" in text and "number" in text for text in s.toasts()), "the reason")
        assert user.read_text() == MINE and not local.exists()


async def test_found_by_name_by_what_it_does_and_by_what_was_changed(tmp_path: Path) -> None:
    gateway, _, _ = rooted(tmp_path)
    async with screen(gateway) as s:
        await opened(s)
        every = len(page(s).shown)
        await s.pilot.press(*"reach", "space", *"network")
        await s.until(lambda: page(s).shown and page(s).shown[0].key == "walls.network")
        await s.pilot.press("escape")
        await s.until(lambda: len(page(s).shown) == every)
        await s.pilot.press(*"changed")
        await s.until(lambda: [row.key for row in page(s).shown] == ["worker.idle_minutes"])
        await s.pilot.press("escape", *"walrus")
        await s.until(lambda: "Nothing of that name" in s.text())
        await s.pilot.press("escape", "escape")
        await s.until(lambda: s.app.screen is s.desk)


async def test_a_theme_chosen_there_is_on_at_once(tmp_path: Path) -> None:
    gateway, _, local = rooted(tmp_path)
    async with screen(gateway) as s:
        await opened(s, "screen.theme")
        await s.pilot.press("enter", "down", "enter")
        await s.until(lambda: s.app.theme == "thetis-light")
        assert "thetis-light" in local.read_text()


async def test_a_key_is_pressed_and_counts_at_once_in_help_and_palette_too(tmp_path: Path) -> None:
    gateway, user, _ = rooted(tmp_path)
    async with screen(gateway, size=(120, 40)) as s:
        await opened(s, "screen.keys.home")
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, PressScreen))
        await s.pilot.press("x")
        await s.until(lambda: "typed into the prompt" in s.text())
        await s.pilot.press("f9")
        await s.until(lambda: "would be without" in s.text())
        await s.pilot.press("f7", "enter")
        await s.until(lambda: s.app.appearance.keys == {"home": "f7"}, "in force")
        assert user.read_text().startswith(MINE) and 'home = "f7"' in user.read_text()
        await s.pilot.press("escape", "escape")
        await s.until(lambda: s.app.screen is s.desk)
        await s.pilot.press("f4")
        await s.calm()
        assert s.app.screen is s.desk
        await s.pilot.press("f1")
        await s.until(lambda: "f7, /home" in s.text(), "the help says so")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.desk)
        await s.pilot.press("f7")
        await s.until(lambda: isinstance(s.app.screen, HomeScreen))


async def test_files_changed_by_hand_are_taken_up_and_a_bad_one_is_told_once(tmp_path: Path) -> None:
    gateway, user, _ = rooted(tmp_path)
    themes = tmp_path / "themes"
    themes.mkdir()
    async with screen(gateway) as s:
        s.app.appearance._themes = themes
        await s.app.appearance.look()
        (themes / "dark.toml").write_text('accent = "#ff0000"\n')
        user.write_text(MINE + '[screen]\nnotices = "off"\n[screen.keys]\nlogg = "f7"\nlog = "ctrl+c"\nhelp = "f6"\n')
        await s.app.appearance.look()
        assert s.app.current_theme.accent == "#ff0000" and s.app.notices.level == "off"
        assert s.app.appearance.keys == {"help": "f6"}
        await s.until(lambda: any("did you mean log" in text for text in s.toasts()), "the unknown command")
        await s.until(lambda: any("ctrl+c stays" in text for text in s.toasts()), "the key nobody takes")
        (themes / "dark.toml").write_text('accent = "walrus"\n')
        await s.app.appearance.look()
        await s.until(lambda: any("as shipped" in text for text in s.toasts()))
        assert s.app.current_theme.accent == DARK.accent


def test_a_file_of_colours_changes_what_it_names_and_nothing_else() -> None:
    own = ownthemes.changed(DARK, 'accent = "#ff9e64"\ntext-muted = "#888888"\nmarkdown-h1-text-style = "bold underline"')
    assert isinstance(own, Theme) and own.accent == "#ff9e64" and own.variables["text-muted"] == "#888888"
    assert own.primary == DARK.primary and own.name == DARK.name and DARK.variables["text-muted"] != "#888888"


NO_COLOURS = ["accent = 3", 'accent = "nocolour"', "[accent]\nx = 1", "accent", 'A = "red"', 'x-style = "huge"']


@pytest.mark.parametrize("text", NO_COLOURS)
def test_what_is_no_colour_is_said(text: str) -> None:
    assert isinstance(ownthemes.changed(DARK, text), ownthemes.Wrong)


@given(st.text(max_size=80))
def test_no_text_breaks_a_theme(text: str) -> None:
    for theme in THEMES:
        own = ownthemes.changed(theme, text)
        assert isinstance(own, ownthemes.Wrong | Theme)


NAMES = [command.id for command in keymap.remappable()]
PRESSED = ["f7", "ctrl+t", "alt+x", "f4", "escape", "ctrl+r", "none"]


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(PRESSED), min_size=1, max_size=2).map(",".join)))
def test_every_command_nobody_moved_keeps_the_keys_nobody_took(said: dict[str, str]) -> None:
    """As Textual applies it, which takes a key from all that share it with one that moves."""
    keys, _ = keymap.read(said)
    live = BindingsMap(Desk.BINDINGS)
    live.apply_keymap(keymap.bindings(keys))
    now: dict[str, set[str]] = {}
    for key, bound in live.key_to_bindings.items():
        for binding in bound:
            now.setdefault(str(binding.id).removeprefix(keymap.PREFIX), set()).add(key)
    taken = {key for own in keys.values() for key in own.split(",")}
    for command in keymap.remappable():
        mine = set(filter(None, keys.get(command.id, command.keys).split(",")))
        wanted = mine if command.id in keys else mine - taken
        assert now.get(command.id, set()) - {UNPRESSED} == wanted, command.id
    assert now["quit"], "there is always a way out"


def test_a_setting_a_gateway_wrote_is_the_row(tmp_path: Path) -> None:
    gateway, user, _ = rooted(tmp_path)
    assert gateway.settings is not None
    gateway.settings.write(WriteSetting(key="screen.keys.theme", value='"none"'))
    keys, wrong = keymap.read({"theme": "none"})
    assert keys == {"theme": ""} and not wrong and "theme" in user.read_text()


async def test_a_repository_gives_no_keys(tmp_path: Path) -> None:
    gateway, _, local = rooted(tmp_path)
    for file in (local, local.with_name("thetis.toml")):
        file.write_text('[screen]\nnotices = "bell"\n[screen.keys]\nhelp = "f6"\n')
    async with screen(gateway) as s:
        await s.until(lambda: s.app.notices.level == "bell", "what it may say counts")
        assert s.app.appearance.keys == {}
