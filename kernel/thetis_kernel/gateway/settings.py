"""Settings for the clients: what the files say now, and the one way to change them.

Owns reading the layers anew for a look (the running gateway keeps what it started with) and hiding what is secret. Writing is
config/writing.py. Must not know screens.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from thetis_kernel.config.keys import Key, keys, nearest
from thetis_kernel.config.loading import Layers, Loaded, load
from thetis_kernel.config.settings import ENVIRONMENT
from thetis_kernel.gateway.secrets import is_secret_name
from thetis_kernel.gateway.secrets import shown as without_secrets
from thetis_kernel.paths import user_config_file
from thetis_kernel.protocol.settings import ListSettings, SettingLine, SettingList, SettingWritten, Where, WriteSetting
from thetis_kernel.scrub.shapes import find
from thetis_kernel.tomlfile import parse, read_text

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

AT_ONCE = frozenset({"screen.theme", "screen.notices", "screen.keys"})
"""What the screen itself takes up when it is changed there."""


def secret(name: str, text: str) -> bool:
    """Whether a setting's text is a secret: by its name, or by what it looks like."""
    return bool(text) and (is_secret_name(name) or next(find(text), None) is not None)


class SettingsDoor:
    """The configuration of one root, as its files are at the moment of asking."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers

    @classmethod
    def of(cls, root: Path, loaded: Loaded) -> SettingsDoor:
        """With the layers a gateway was started on."""
        return cls(Layers(root, loaded.user_file or user_config_file(), loaded.local, loaded.trusted))

    def all(self, prefix: str = "") -> SettingList:
        """Every setting below `prefix`. Raises ConfigError when a file cannot be used."""
        layers = self.layers
        loaded = load(layers.root, layers.user_file, local=layers.local, trusted=layers.trusted)
        values = msgspec.to_builtins(loaded.settings)
        said = self._said()
        lines = [self._line(key, values, said) for key in keys().values() if key.name.startswith(prefix)]
        return SettingList(lines, [str(file) for file in loaded.files], loaded.warnings)

    def write(self, ask: WriteSetting) -> SettingWritten:
        """Set or unset one. Raises ConfigError."""
        from thetis_kernel.config.writing import write  # late: what keeps comments is imported when somebody writes

        file = write(self.layers, ask.where, ask.key, None if ask.unset else ask.value, secret)
        key = nearest(ask.key)
        name = key.name if key is not None else ask.key
        return SettingWritten(str(file), next(line for line in self.all(name).settings if line.key == name))

    def _said(self) -> dict[Where, dict[str, Any]]:
        """What each file says by itself, the strongest last."""
        said: dict[Where, dict[str, Any]] = {}
        places: tuple[Where, ...] = ("user", "root", "local") if self.layers.local else ("user", "root")
        for where in places:
            file = self.layers.file(where)
            said[where] = parse(file, read_text(file) or "")
        return said

    def _line(self, key: Key, values: dict[str, Any], said: dict[Where, dict[str, Any]]) -> SettingLine:
        value = _within(values, key.name)
        if key.kind not in ("whole", "number", "yes-no"):  # max_tokens is named like a secret
            value = without_secrets(key.name.rpartition(".")[2], value)
        source: str = "default"
        for where, table in said.items():
            counts = where in key.places or self.layers.trusted
            if counts and _within(table, key.name) is not None:
                source = where
        if any(dotted == key.name and variable in os.environ for variable, dotted in ENVIRONMENT.items()):
            source = "environment"
        from thetis_kernel.config.writing import shown

        return SettingLine(
            key=key.name, kind=key.kind, value=shown(value), default=shown(_plain(key.default)), source=source,
            places=list(key.places), choices=list(key.choices), sentence=key.sentence, agent=key.agent,
            next_start=key.name not in AT_ONCE)


def handlers(gateway: Gateway, only_a_person: Callable[[str], None]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel; a bridge may neither look nor write."""

    async def listing(ask: ListSettings) -> SettingList:
        only_a_person("A setting")
        return await asyncio.to_thread(gateway.settings_door.all, ask.prefix)

    async def writing(ask: WriteSetting) -> SettingWritten:
        only_a_person("A setting")
        return await asyncio.to_thread(gateway.settings_door.write, ask)

    return {ListSettings: listing, WriteSetting: writing}


def _within(table: dict[str, Any], dotted: str) -> Any:
    found: Any = table
    for part in dotted.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "Decimal" else value
