"""Layers of configuration: defaults < user config < thetis.toml < thetis.local.toml < environment.

Tables merge, lists replace. An unknown key is a warning with a suggestion, a bad value an error that names file, line and
key. What a root's files may not say (settings.USER_ONLY) is ignored with a warning that says where it belongs.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from thetis_kernel.config.settings import ENVIRONMENT, ROOT_VALUES, USER_ONLY, Settings
from thetis_kernel.errors import ConfigError
from thetis_kernel.tomlfile import Table, bad, line_of, parse, read_text


class Loaded(msgspec.Struct, frozen=True):
    """The settings, sentences about what was ignored, the files that were read, and how `load` was asked."""

    settings: Settings
    warnings: list[str]
    files: list[Path]
    local: bool = True
    trusted: bool = False
    user_file: Path | None = None


class Layers(msgspec.Struct, frozen=True):
    """Where the configuration of one root comes from."""

    root: Path
    user_file: Path
    local: bool = True
    trusted: bool = False

    def file(self, where: Literal["user", "root", "local"]) -> Path:
        """The file a place stands for."""
        return {"user": self.user_file, "root": self.root / "thetis.toml", "local": self.root / "thetis.local.toml"}[where]


def load(root: Path | None, user_file: Path, *, local: bool = True, environ: Mapping[str, str] = os.environ,
         trusted: bool = False, instead: Mapping[Path, str] | None = None) -> Loaded:
    """Read all layers. `local=False` leaves out thetis.local.toml (`--no-local`). `trusted`: a person trusts what the root
    brings, so its files may say what else only a person's own may. `instead`: texts in the place of what files hold now.

    Raises ConfigError for a file that cannot be read or a value that does not fit.
    """
    warnings: list[str] = []
    files: list[Path] = []
    layers: list[Path] = [user_file]
    if root is not None:
        layers.append(root / "thetis.toml")
        if local:
            layers.append(root / "thetis.local.toml")
    merged: Table = {}
    for file in layers:
        text = instead[file] if instead and file in instead else read_text(file)
        if text is None:
            continue
        files.append(file)
        table = parse(file, text)
        # thetis.local.toml lies in the checkout, so a clone can bring one: it is a root's file like any other.
        if file != user_file and not trusted:
            _drop_user_only(table, file, warnings)
        _check(table, file, text, warnings)
        merged = _merge(merged, table)
    merged = _merge(merged, _from_environment(environ))
    return Loaded(_convert(merged, "the merged configuration", ""), warnings, files, local, trusted, user_file)


def _drop_user_only(table: Table, file: Path, warnings: list[str]) -> None:
    for dotted in sorted(USER_ONLY):
        section, _, key = dotted.partition(".")
        inner = table.get(section)
        if not key and section in table:
            del table[section]
        elif key and isinstance(inner, dict) and key in inner:
            del inner[key]
        else:
            continue
        warnings.append(f"{file.name}: {dotted} is ignored there; set it in your own configuration file.")
    for dotted, allowed in ROOT_VALUES.items():
        section, _, key = dotted.partition(".")
        inner = table.get(section)
        value = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and isinstance(value, str) and value not in allowed:
            del inner[key]
            warnings.append(f"{file.name}: {dotted} = {value[:40]!r} is ignored there; set it in your own configuration file "
                            f"(a repository can ask for {' or '.join(sorted(allowed))}).")


def _check(table: Table, file: Path, text: str, warnings: list[str]) -> None:
    """Drop unknown keys with a warning, raise for values that do not fit."""
    sections = {f.name: f.type for f in msgspec.structs.fields(Settings)}
    for section in list(table):
        if section not in sections:
            warnings.append(_unknown(file, section, list(sections)))
            del table[section]
            continue
        kind = sections[section]
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)) or not isinstance(table[section], dict):
            continue
        known = [f.name for f in msgspec.structs.fields(kind)]
        for key in list(table[section]):
            if key not in known:
                warnings.append(_unknown(file, f"{section}.{key}", [f"{section}.{name}" for name in known]))
                del table[section][key]
    _convert(table, str(file), text)


def _unknown(file: Path, key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"{file.name}: unknown setting {key}" + (f"; did you mean {near[0]}?" if near else ".")


def _convert(table: Table, file: str, text: str) -> Settings:
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$.")
        key = where.rstrip("`")
        raise bad(Path(file), line_of(text, key), key, reason[0].lower() + reason[1:]) from error


def _merge(below: Table, above: Table) -> Table:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _from_environment(environ: Mapping[str, str]) -> Table:
    table: Table = {}
    for variable, dotted in ENVIRONMENT.items():
        if variable not in environ:
            continue
        section, _, key = dotted.partition(".")
        kinds = {f.name: f for f in msgspec.structs.fields(Settings)}
        field = next(f for f in msgspec.structs.fields(kinds[section].type) if f.name == key)
        try:
            value = msgspec.convert(environ[variable], field.type, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"The environment variable {variable} ({dotted}) does not fit: {error}.",
                              hint="Unset it or give it a fitting value.", file="environment", line=0, key=dotted) from error
        table.setdefault(section, {})[key] = value
    return table
