"""The one writer of settings: a key, a value, a file; validated whole before a byte is written, comments kept.

What is written is the old text with one key changed, and it is read back first: it must say what it said, and the new value,
and nothing else; and together with all other layers it must still be a configuration. Secrets are never written, only where
they are. Owns how a value is given as text. Must not know who asks.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel import localfile
from thetis_kernel.config.keys import Key, Where, allowed_in_root, keys, nearest
from thetis_kernel.config.loading import Layers, load
from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import ConfigError
from thetis_kernel.tomlfile import edited, parse, read_text

Secret = Callable[[str, str], bool]
"""(name of a setting, text) -> whether the text is a secret itself and not a reference to one."""
REFERENCES = ("env:", "file:", "keyring:")
_PART = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN = 80


def write(layers: Layers, where: Where, dotted: str, given: str | None, secret: Secret) -> Path:
    """Set `dotted` to what `given` says, or take it out when that is None; the file that was changed.

    Raises ConfigError, and then no file was touched: an unknown key, a value that does not fit, a place where it does not
    count, a secret, a file that is already unusable.
    """
    file = layers.file(where)
    key = known(dotted)
    if where not in key.places:
        raise _no(dotted, f"A repository's own files cannot say {dotted}, only your configuration can.",
                  f"Set it there ({layers.user_file}).", file)
    if where != "user" and file.is_symlink():
        raise _no(dotted, f"{file} is a link, and what it leads to is not this repository's.", "Replace it by a file.", file)
    try:
        with localfile.locked(file):
            text = read_text(file) or ""
            changed = change(file, text, dotted, given, where, secret)
            judge(layers, file, changed)
            if changed != text:
                localfile.replace(file, changed.encode(), mode=None if file.exists() or where == "user" else 0o644)
    except OSError as error:
        raise _no(dotted, f"{file} cannot be written: {error.strerror}.", "", file) from error
    return file


def judge(layers: Layers, file: Path, text: str) -> None:
    """Raise ConfigError when all layers with `text` in `file`'s place are no configuration."""
    try:
        Modes.of(load(layers.root, layers.user_file, local=layers.local, trusted=layers.trusted, instead={file: text}).settings)
    except ConfigError as error:
        raise ConfigError(f"Nothing was changed: {error.message}", hint="Give another value, or mend the file first.",
                          **{**error.data, "file": str(file)}) from error


def known(dotted: str) -> Key:
    """The key of that name. Raises ConfigError with a suggestion."""
    found = nearest(dotted) if all(_PART.fullmatch(part) for part in dotted.split(".")) else None
    if found is None:
        near = difflib.get_close_matches(dotted, list(keys()), n=1)
        raise _no(dotted, f"There is no setting {dotted[:_SHOWN]!r}.",
                  f"Did you mean {near[0]}?" if near else "`thetis config ls` lists them.")
    if found.kind == "table" and dotted == found.name:
        raise _no(dotted, f"{dotted} is a table of names.", f"Set one of its entries: {dotted}.NAME...")
    return found


def change(file: Path, text: str, dotted: str, given: str | None, where: Where, secret: Secret) -> str:
    """`text` with the key set, or without it. Pure. Raises ConfigError."""
    key = known(dotted)
    before = parse(file, text)
    wanted = deepcopy(before)
    if given is None:
        if not _taken_out(wanted, dotted.split(".")):
            return text
        value = None
    else:
        value = value_of(key, dotted, given)
        _no_secret(dotted, value, secret)
        if where != "user" and not allowed_in_root(dotted, value):
            raise _no(dotted, f"A repository's own files cannot set {dotted} to {given[:_SHOWN]!r}.", "", file)
        _put(wanted, dotted, value)
    return edited(file, text, [(dotted.split("."), value)], wanted)


def value_of(key: Key, dotted: str, given: str) -> Any:
    """The value a text stands for: as TOML has it, words of a text setting also without quotes. Raises ConfigError."""
    exact = dotted == key.name
    if key.kind == "tables":
        raise _no(dotted, f"{dotted} is a list of tables, which is written by hand.", "Edit your configuration file.")
    value: Any = given
    if not (exact and key.kind in ("text", "choice")) or given[:1] in ('"', "'"):
        try:
            value = tomllib.loads(f"value = {given}")["value"] if "\n" not in given and "\r" not in given else given
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            if exact and key.kind != "number":
                raise _unfit(key, dotted, given, "") from None
    if not exact:
        return value
    try:
        fitting = msgspec.convert(value, key.type, strict=not (key.kind == "number" and isinstance(value, str)))
    except msgspec.ValidationError as error:
        raise _unfit(key, dotted, given, str(error)) from error
    if key.kind == "number" and isinstance(value, str):
        return float(fitting)
    return value


def shown(value: Any) -> str:
    """A value as it would be written, "" for none."""
    if value is None:
        return ""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        return msgspec.json.encode(value).decode()  # read, not written: as TOML it has lines
    import tomlkit  # late: not every process that knows settings writes them

    return tomlkit.item(value).as_string() if not isinstance(value, str) else value


def _unfit(key: Key, dotted: str, given: str, why: str) -> ConfigError:
    wants = {"whole": "a whole number", "number": "a number", "yes-no": "true or false", "list": 'a list like ["a", "b"]',
             "table": "a table", "choice": "one of " + ", ".join(key.choices)}.get(key.kind, "a text")
    bound = re.search(r"(?:>=|<=|>|<) [\d.]+", why)
    hint = f"It takes {wants}" + (f" {bound[0]}" if bound else "") + "."
    return _no(dotted, f"{dotted} cannot be {given[:_SHOWN]!r}.", hint)


def _no_secret(dotted: str, value: Any, secret: Secret) -> None:
    if isinstance(value, dict):
        for name, one in value.items():
            _no_secret(f"{dotted}.{name}", one, secret)
    elif isinstance(value, list):
        for one in value:
            _no_secret(dotted, one, secret)
    elif isinstance(value, str) and not value.startswith(REFERENCES) and secret(dotted.rpartition(".")[2], value):
        raise _no(dotted, f"{dotted} would hold a secret in clear.", "Write where it is: env:NAME or file:/absolute/path.")


def _put(table: dict[str, Any], dotted: str, value: Any) -> None:
    *sections, last = dotted.split(".")
    for section in sections:
        inner = table.setdefault(section, {})
        if not isinstance(inner, dict):
            raise _no(dotted, f"{section} is no table there.", "Edit the file.")
        table = inner
    table[last] = value


def _taken_out(table: Any, parts: list[str]) -> bool:
    for section in parts[:-1]:
        table = table.get(section) if isinstance(table, dict) else None
    if not isinstance(table, dict) or parts[-1] not in table:
        return False
    del table[parts[-1]]
    return True


def _no(dotted: str, message: str, hint: str, file: Path | None = None) -> ConfigError:
    return ConfigError(message, hint=hint, file=str(file or ""), line=0, key=dotted[:_SHOWN])
