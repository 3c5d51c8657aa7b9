"""The settings as rows to look through: what each is, where it is said, which of them match a few words.

Keys of commands are rows among them. Pure; must not know about widgets. Texts come out safe and on one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thetis_kernel.protocol.settings import SettingLine, Where

from thetis_tui import keymap
from thetis_tui.commands import Command
from thetis_tui.sanitise import one_line

PLACES: dict[str, str] = {"user": "your configuration", "root": "thetis.toml", "local": "thetis.local.toml"}
SOURCES: dict[str, str] = {**PLACES, "user": "yours", "default": "", "environment": "environment"}
KEYS = "screen.keys"


@dataclass(frozen=True, slots=True)
class Preference:
    """One row. `line` is the setting it stands for; `command` is set when it is the key of one."""

    key: str
    value: str
    source: str
    sentence: str
    line: SettingLine
    command: str = ""

    @property
    def changed(self) -> bool:
        """Whether something says other than what Thetis came with."""
        return self.source != "default"

    @property
    def section(self) -> str:
        """What it belongs to."""
        return self.key.rpartition(".")[0] or self.key


def rows(settings: Sequence[SettingLine], own: Mapping[str, str]) -> list[Preference]:
    """Every setting, and after those of the screen one row a command for its keys (`own` as read from the settings)."""
    out: list[Preference] = []
    for line in settings:
        if line.key != KEYS:
            out.append(Preference(line.key, one_line(line.value), line.source, one_line(line.sentence), line))
            continue
        for command in keymap.remappable():
            out.append(_key_row(command, line, own))
    return out


def _key_row(command: Command, line: SettingLine, own: Mapping[str, str]) -> Preference:
    mine = own.get(command.id)
    value = command.key_names if mine is None else keymap.names(mine) or keymap.NONE
    source = line.source if mine is not None else "default"
    return Preference(f"{KEYS}.{command.id}", value, source, f"{command.title}. {command.help}", line, command.id)


def found(every: Sequence[Preference], words: str) -> list[Preference]:
    """Those that hold all of the words, in their name, value or sentence; `changed` alone means those that were."""
    parts = words.casefold().split()
    if parts == ["changed"]:
        return [row for row in every if row.changed]
    named = [row for row in every if all(part in row.key.casefold().replace("_", " ") or part in row.key for part in parts)]
    told = [row for row in every if row not in named and all(
        part in f"{row.key} {row.value} {row.sentence} {SOURCES[row.source]}".casefold() for part in parts)]
    return [*named, *told]


def place_of(row: Preference, wanted: Where) -> Where:
    """Where a change of `row` is written: where the person wants it, if it counts there."""
    return wanted if wanted in row.line.places else "user"


def said_in(row: Preference, where: Where) -> bool:
    """Whether taking it out of that file changes anything."""
    return row.source == where
