"""`guest.toml`: what a guest says of itself, typed, and every way it can be wrong as a diagnostic with its line.

    name = "outline"              # a tool's is its directory's name: [a-z0-9_-], 1-48, neither at an edge
    world = "tool"                # tool, agent or gateway
    version = "0.1.0"
    description = "One sentence."
    group = "code"                # optional: the tool group it belongs to
    [config.max_entries]          # optional: settings it reads from its configuration
    description = "One sentence."
    default = 200                 # optional: string, integer, float or boolean
    secret = false                # optional: never shown

The text may be hostile; nothing here reads files or decides what a guest may do.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from typing import Any

import msgspec

from thetis_kernel.forge.diagnostics import Complaints
from thetis_kernel.forge.layout import MANIFEST, world_of

STEP = "manifest"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,46}[a-z0-9])?")
"""Like the guest's directory (`agent_core`, `http_fetch`): a word that is neither a path nor an option."""
GROUP = re.compile(r"[a-z][a-z0-9-]{0,31}")
VERSION = re.compile(r"\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+.][0-9A-Za-z.-]{1,32})?")
CONFIG_KEY = re.compile(r"[a-z][a-z0-9_]{0,47}")
MAX_DESCRIPTION = 1000
MAX_CONFIG_KEYS = 64
MAX_TEXT = 16 * 1024
_LONG_DOTTED_KEY = re.compile(r"(?:[\w\"'-]+[ \t]*\.[ \t]*){16}")
"""tomllib needs time in the square of a dotted key's parts: 20,000 parts took 12 s."""
_KEYS = ("name", "world", "version", "description", "group", "config")
_CONFIG_FIELDS = ("description", "default", "secret")


class ConfigKey(msgspec.Struct, frozen=True):
    """One setting a guest reads: what it is for, its default (None when there is none), whether it is a secret."""

    description: str
    default: str | int | float | bool | None = None
    secret: bool = False


class Manifest(msgspec.Struct, frozen=True):
    """A valid `guest.toml`."""

    name: str
    world: str
    version: str
    description: str
    group: str = ""
    config: dict[str, ConfigKey] = {}


def parse_manifest(text: str, aspect: str) -> Manifest:
    """The manifest of the candidate for `aspect`; raises GateError (step "manifest") with everything that is wrong."""
    complaints = Complaints()
    table = _table(text, complaints)
    complaints.raise_if_any(STEP, f"{aspect} has no usable manifest")
    manifest = _Parser(text, table, complaints).manifest(aspect)
    complaints.raise_if_any(STEP, f"{aspect} has no valid manifest")
    return manifest


def _table(text: str, complaints: Complaints) -> dict[str, Any]:
    """The TOML table, or complaints."""
    if len(text) > MAX_TEXT:
        complaints.add(f"is larger than {MAX_TEXT // 1024} KiB", MANIFEST)
    elif found := _LONG_DOTTED_KEY.search(text):
        complaints.add("has a dotted key of more than 16 parts", MANIFEST, text.count("\n", 0, found.start()) + 1)
    else:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as exc:
            place = re.search(r"line (\d+)", str(exc))
            complaints.add(f"is not TOML: {exc}", MANIFEST, int(place[1]) if place else text.count("\n") + 1)
        except RecursionError:
            complaints.add("is nested too deeply", MANIFEST)
        except ValueError as exc:  # an integer of thousands of digits
            complaints.add(f"is not TOML: {exc}", MANIFEST)
    return {}


class _Parser:
    """Takes the fields of one table, complaining about each that does not fit."""

    def __init__(self, text: str, table: dict[str, Any], complaints: Complaints) -> None:
        self._source = text
        self._table = table
        self._complaints = complaints

    def manifest(self, aspect: str) -> Manifest:
        self._unknown(self._table, _KEYS, "")
        expected = world_of(aspect)
        name = self._text("name", NAME, "1-48 of a-z, 0-9, hyphens and underscores, none at an edge")
        world = self._text("world", None, "tool, agent or gateway")
        if world and world != expected:
            self._say(f"world must be {expected!r} for {aspect}", "world")
        kind, _, directory = aspect.partition("/")
        if kind == "tool" and name and name != directory:
            self._say(f"name is {name!r}, but the tool's directory is {directory!r}; they must be equal", "name")
        return Manifest(
            name=name,
            world=world,
            version=self._text("version", VERSION, "three numbers, such as 0.1.0"),
            description=self._text("description", None, "one sentence"),
            group=self._text("group", GROUP, "a-z, 0-9 and hyphens, at most 32") if "group" in self._table else "",
            config=self._config(),
        )

    def _text(self, key: str, pattern: re.Pattern[str] | None, shape: str) -> str:
        value = self._table.get(key)
        if key not in self._table:
            self._complaints.add(f"{key} is missing: {shape}", MANIFEST)
        elif not isinstance(value, str):
            self._say(f"{key} must be a string: {shape}", key)
        elif not value.strip() or (pattern is not None and not pattern.fullmatch(value)):
            self._say(f"{key} is {value[:80]!r}; it must be {shape}", key)
        elif len(value) > MAX_DESCRIPTION:
            self._say(f"{key} is longer than {MAX_DESCRIPTION} characters", key)
        else:
            return value
        return ""

    def _config(self) -> dict[str, ConfigKey]:
        raw = self._table.get("config", {})
        if not isinstance(raw, dict):
            self._say("config must be tables: [config.KEY]", "config")
            return {}
        if len(raw) > MAX_CONFIG_KEYS:
            self._say(f"config has more than {MAX_CONFIG_KEYS} keys", "config")
            return {}
        found = {}
        for key, value in raw.items():
            if not CONFIG_KEY.fullmatch(key):
                self._say(f"config key {key[:60]!r} must be a-z, 0-9 and underscores, at most 48", key)
            elif not isinstance(value, dict):
                self._say(f"config.{key} must be a table with a description", key)
            else:
                found[key] = self._config_key(key, value)
        return found

    def _config_key(self, key: str, value: dict[str, Any]) -> ConfigKey:
        self._unknown(value, _CONFIG_FIELDS, f"config.{key}.")
        description, default, secret = value.get("description", ""), value.get("default"), value.get("secret", False)
        if not isinstance(description, str) or not description.strip() or len(description) > MAX_DESCRIPTION:
            self._say(f"config.{key}.description must be one sentence", key)
            description = ""
        if default is not None and not isinstance(default, str | int | float):
            self._say(f"config.{key}.default must be a string, a number or a boolean", key)
            default = None
        if not isinstance(secret, bool):
            self._say(f"config.{key}.secret must be true or false", key)
            secret = False
        if secret and default is not None:
            self._say(f"config.{key} is a secret and cannot have a default", key)
        return ConfigKey(description, default, secret)

    def _unknown(self, table: dict[str, Any], known: Iterable[str], prefix: str) -> None:
        for key in table:
            if key not in known:
                close = difflib.get_close_matches(key[:64], list(known), 1)
                hint = f"did you mean {prefix}{close[0]}?" if close else f"known are {', '.join(known)}"
                self._say(f"unknown key {prefix}{key[:80]}; {hint}", key)

    def _say(self, message: str, key: str) -> None:
        self._complaints.add(message, MANIFEST, line_of(self._source, key))


def line_of(text: str, key: str) -> int:
    """The line of a manifest where `key` is set, or 0."""
    for number, line in enumerate(text.splitlines(), 1):
        head = line.split("=", 1)[0] if "=" in line else line
        if re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", head):
            return number
    return 0
