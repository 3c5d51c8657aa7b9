"""How the screen looks and is steered, as the person's files say it now: theme, own colours, own keys, how it calls.

Reads them when they have changed and puts them into force at once. Must not know how settings are merged or written: the
gateway says what holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.settings import SettingLine

from thetis_tui import keymap
from thetis_tui.commands import Command
from thetis_tui.notices import Level
from thetis_tui.sanitise import one_line
from thetis_tui.themes import THEMES

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

LOOK = 2.0
"""Seconds between two looks at whether the files are others: a few `stat`, nothing is drawn."""
PREFIX = "thetis-"


class Appearance:
    """One an app. `themes`: the directory of a person's own colours, None for none."""

    def __init__(self, app: ThetisApp, themes: Path | None) -> None:
        self._app = app
        self._themes = themes
        self._seen: dict[str, tuple[int, int]] = {}
        self._files: list[str] = []
        self._said: set[str] = set()
        self._first = True
        self.keys: dict[str, str] = {}
        """Keys of one's own by the id of a command; "" for no key."""

    def names_of(self, command: Command) -> str:
        """The keys of a command for people, as they are now."""
        own = self.keys.get(command.id)
        return command.key_names if own is None else keymap.names(own)

    def begin(self) -> None:
        """Put one's own colours into force, before the first paint: nothing is asked for it."""
        self._colours()

    async def look(self) -> None:
        """Read again what has changed on disk. Errors of a file are said once and change nothing."""
        if self._stamps(self._paths()) == self._seen and not self._first:
            return
        self._colours()
        await self.read()

    async def read(self) -> None:
        """Ask what the settings of the screen are, and put them into force."""
        app = self._app
        if app.state.link != "ready":
            return
        first, self._first = self._first, False
        try:
            found = await app.ask(app.client.settings("screen."))
        except ThetisError as error:
            self._seen = self._stamps(self._paths())
            self._say(f"{error.message} {error.hint}".strip())
            return
        self._files = list(found.files)
        self._seen = self._stamps(self._paths())
        for line in found.settings:
            self.put(line, first=first)

    def put(self, line: SettingLine, *, first: bool = False) -> None:
        """One setting's value is this now. `first`: what the program was started with stays, as a key may have changed it."""
        app = self._app
        if line.key == "screen.theme" and not first and line.value in app.available_themes:
            app.theme = line.value
        elif line.key == "screen.notices" and line.value in get_args(Level):
            app.notices.level = line.value  # type: ignore[assignment] # it is one of them
        elif line.key == "screen.keys":
            self._keys(_table(line.value))

    def _keys(self, said: Mapping[str, object]) -> None:
        keys, wrong = keymap.read(said)
        for sentence in wrong:
            self._say(sentence)
        if keys != self.keys:
            self.keys = keys
            self._app.set_keymap(keymap.bindings(keys))
            self._app.desk.prompt.yields(key for own in keys.values() for key in own.split(","))
            self._app.refresh_views()

    # --- one's own colours

    def _colours(self) -> None:
        """Every theme with what its file says; a file that cannot be used changes nothing and is told."""
        if self._themes is None:
            return
        from thetis_tui import ownthemes

        app, again = self._app, False
        for base in THEMES:
            file = self._themes / f"{base.name.removeprefix(PREFIX)}.toml"
            theme = base
            try:
                text = file.read_bytes()[: ownthemes.MOST].decode() if file.is_file() else ""
                own = ownthemes.changed(base, text) if text else base
            except (OSError, UnicodeDecodeError) as error:
                own = ownthemes.Wrong(str(error))
            if isinstance(own, ownthemes.Wrong):
                self._say(f"{file.name}: {own.message}; its colours are as shipped.")
            else:
                theme = own
            if app.get_theme(base.name) != theme:
                app.register_theme(theme)
                again = again or app.theme == base.name
        if again and app.is_running:
            now = app.theme
            app.theme = next(theme.name for theme in THEMES if theme.name != now)
            app.theme = now

    def _paths(self) -> list[Path]:
        named = [self._themes / f"{theme.name.removeprefix(PREFIX)}.toml" for theme in THEMES] if self._themes else []
        beside = [self._themes.parent / "config.toml"] if self._themes else []
        return [*named, *beside, *map(Path, self._files)]

    def _stamps(self, paths: list[Path]) -> dict[str, tuple[int, int]]:
        out: dict[str, tuple[int, int]] = {}
        for path in paths:
            try:
                found = path.stat()
            except OSError:
                continue
            out[str(path)] = (found.st_mtime_ns, found.st_size)
        return out

    def _say(self, sentence: str) -> None:
        """A complaint, once while it stands."""
        if sentence not in self._said:
            self._said.add(sentence)
            self._app.say(one_line(sentence), level="warn")


def _table(value: str) -> dict[str, object]:
    """The entries of a table as the gateway writes it."""
    try:
        found = msgspec.json.decode(value or "{}")
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
