"""Settings as a person sees and changes them. Never offered over a bridge; an agent has a narrower way of its own.

Values travel as TOML text: `true`, `12`, `["a"]`; words of a text setting without quotes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.wire import Ask

Where = Literal["user", "root", "local"]
"""The person's own file, the root's thetis.toml, its thetis.local.toml."""


class SettingLine(msgspec.Struct, frozen=True):
    """One setting. `kind`: text, number, whole, yes-no, choice, list, table, tables (the last two are shown, not edited whole).

    `value` is what the files and the environment say together now, `default` what holds without them; "" for unset. `source`:
    default, user, root, local or environment. `places`: where it may be written. `choices`: what fits a choice, or the entries of
    a list. `agent`: an agent may set it too, in its own branch. `next_start`: it counts from the next start of Thetis on.
    """

    key: str
    kind: str
    value: str
    default: str
    source: str
    places: list[Where]
    choices: list[str] = []
    sentence: str = ""
    agent: bool = False
    next_start: bool = True


class SettingList(msgspec.Struct, frozen=True):
    """All settings, the files that were read, and sentences about what was ignored in them."""

    settings: list[SettingLine]
    files: list[str] = []
    warnings: list[str] = []


class ListSettings(Ask[SettingList], frozen=True, tag="client.settings"):
    """The settings whose key begins with `prefix`, as the files say them now. Secrets are never among the values."""

    prefix: str = ""


class SettingWritten(msgspec.Struct, frozen=True):
    """The file that was changed, and the setting as it stands now: another layer may still say otherwise."""

    file: str
    setting: SettingLine


class WriteSetting(Ask[SettingWritten], frozen=True, tag="client.write-setting"):
    """Set `key`, or take it out of the file when `unset`. Validated whole before anything is written; comments stay."""

    key: str
    value: str = ""
    where: Where = "user"
    unset: bool = False


SETTING_ASKS = (ListSettings, WriteSetting)
