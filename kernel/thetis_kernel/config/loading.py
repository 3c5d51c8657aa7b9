"""Layers of configuration: defaults < user config < thetis.toml < thetis.local.toml < environment.

Tables merge, lists replace. An unknown key is a warning with a suggestion, a bad value an error that names file, line and
key. What a root's files may not say (settings.USER_ONLY) is ignored with a warning that says where it belongs.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from thetis_kernel import localfile
from thetis_kernel.config.settings import ENVIRONMENT, ROOT_VALUES, USER_ONLY, Settings
from thetis_kernel.errors import ConfigError

MAX_BYTES = 256 * 1024
"""Of one file: tomllib needs seconds for some larger ones (reliability S1)."""

Table = dict[str, Any]


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


def read_text(file: Path) -> str | None:
    """A file of settings, None when it is not there. Raises ConfigError for one that cannot be a text."""
    try:
        raw = localfile.read(file, MAX_BYTES)
    except OSError as error:
        raise _bad(file, 0, "", f"cannot be read: {error.strerror}") from error
    if raw is None:
        return None
    if len(raw) > MAX_BYTES:
        raise _bad(file, 0, "", f"is larger than {MAX_BYTES // 1024} KiB")
    if b"\0" in raw:
        raise _bad(file, raw[: raw.index(b"\0")].count(b"\n") + 1, "", "holds a NUL byte")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad(file, raw[: error.start].count(b"\n") + 1, "", "is not UTF-8") from error


def parse(file: Path, text: str) -> Table:
    """What a file of settings says. Raises ConfigError with the line."""
    longest = max((line.partition("=")[0].count(".") for line in text.splitlines()), default=0)
    if longest > 200:  # tomllib is quadratic in the parts of a dotted key
        raise _bad(file, 0, "", "holds a key with more than 200 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise _bad(file, int(found[1]) if found else len(text.splitlines()), "", reason) from error
    except (RecursionError, ValueError) as error:
        raise _bad(file, 0, "", f"is nested too deeply or holds an impossible number ({type(error).__name__})") from error


def _bad(file: Path, line: int, key: str, reason: str) -> ConfigError:
    place = f"{file}:{line}" if line else str(file)
    what = f"{place}: {key}: {reason}" if key else f"{place}: {reason}"
    local = " or start once with --no-local" if file.name == "thetis.local.toml" else ""
    return ConfigError(f"{what}.", hint=f"Mend the file{local}.", file=str(file), line=line, key=key)


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
        raise _bad(Path(file), _line_of(text, key), key, reason[0].lower() + reason[1:]) from error


def _line_of(text: str, dotted: str) -> int:
    """The 1-based line where `section.key` is set, 0 when it cannot be told."""
    section, _, key = dotted.partition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            current = header[1].strip("\"'")
            if not key and current == section:
                return number
        elif assignment := re.match(r"\s*([A-Za-z0-9_\-.\"']+)\s*=", line):
            name = assignment[1].strip("\"'")
            if (current, name) == (section, key) or (not current and name in (dotted, section)):
                return number
    return 0


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
