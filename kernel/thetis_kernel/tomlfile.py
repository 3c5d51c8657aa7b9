"""TOML files a person writes by hand: read within bounds, parsed with the line that is wrong, one key changed without the rest.

Owns what every such file of ours is checked for, whoever wrote it (reliability S1, S2), and the edit that keeps comments. Must
not know what the keys mean.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from thetis_kernel import localfile
from thetis_kernel.errors import ConfigError

MAX_BYTES = 256 * 1024
"""Of one file: tomllib needs seconds for some larger ones (reliability S1)."""
MAX_PARTS = 200
"""Of a dotted key: tomllib is quadratic in them."""

Table = dict[str, Any]


def read_text(file: Path) -> str | None:
    """The text of a file, None when it is not there. Raises ConfigError for one that cannot be a text."""
    try:
        raw = localfile.read(file, MAX_BYTES)
    except OSError as error:
        raise bad(file, 0, "", f"cannot be read: {error.strerror}") from error
    return None if raw is None else decoded(file, raw)


def decoded(file: Path, raw: bytes) -> str:
    """Bytes of a file as text. Raises ConfigError."""
    if len(raw) > MAX_BYTES:
        raise bad(file, 0, "", f"is larger than {MAX_BYTES // 1024} KiB")
    if b"\0" in raw:
        raise bad(file, raw[: raw.index(b"\0")].count(b"\n") + 1, "", "holds a NUL byte")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad(file, raw[: error.start].count(b"\n") + 1, "", "is not UTF-8") from error


def parse(file: Path, text: str) -> Table:
    """What a text of `file` says. Raises ConfigError with the line."""
    longest = max((line.partition("=")[0].count(".") for line in text.splitlines()), default=0)
    if longest > MAX_PARTS:
        raise bad(file, 0, "", f"holds a key with more than {MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise bad(file, int(found[1]) if found else len(text.splitlines()), "", reason) from error
    except (RecursionError, ValueError) as error:
        raise bad(file, 0, "", f"is nested too deeply or holds an impossible number ({type(error).__name__})") from error


def bad(file: Path, line: int, key: str, reason: str) -> ConfigError:
    """The error for a place of a file; `line` 0 when it cannot be told."""
    place = f"{file}:{line}" if line else str(file)
    what = f"{place}: {key}: {reason}" if key else f"{place}: {reason}"
    local = " or start once with --no-local" if file.name == "thetis.local.toml" else ""
    return ConfigError(f"{what}.", hint=f"Mend the file{local}.", file=str(file), line=line, key=key)


def line_of(text: str, dotted: str) -> int:
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


def edited(file: Path, text: str, changes: list[tuple[list[str], Any]], wanted: Table) -> str:
    """`text` with each (path, value) set, or taken out when the value is None; everything else stays as it is written.

    Raises ConfigError when the text is written in a way in which that would say anything else than `wanted`.
    """
    import tomlkit  # late: only who writes needs it
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text)
        for path, value in changes:
            _edit(document, path, value)
        changed = tomlkit.dumps(document)
    except (TOMLKitError, RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise _by_hand(file) from error
    if len(changed.encode("utf-8", "replace")) > MAX_BYTES or _said(parse(file, changed)) != _said(wanted):
        raise _by_hand(file)
    return changed


def _edit(document: Any, path: list[str], value: Any) -> None:
    import tomlkit
    from tomlkit.items import Item

    *sections, last = path
    for section in sections:
        if section not in document:
            document[section] = tomlkit.table()
        document = document[section]
    if value is None:
        if last in document:
            del document[last]
        return
    item = tomlkit.item(value)
    old = document.get(last)
    if isinstance(old, Item):
        item.trivia.comment_ws, item.trivia.comment = old.trivia.comment_ws, old.trivia.comment
    if last not in document and (before := _last_value(document)) is not None:
        # at the end it would stand below what is said of the next table; tomlkit has no public way to put it here
        document.value._insert_after(before, last, item)
        return
    document[last] = item


def _last_value(table: Any) -> str | None:
    """The last key of a table that is written in lines of its own and holds no tables; None for others."""
    from tomlkit.items import Table as Lines

    names = list(table) if isinstance(table, Lines) and not table.is_super_table() else []
    return str(names[-1]) if names and not any(isinstance(table[name], (dict, Lines)) for name in names) else None


def _said(table: Table) -> Table:
    """Empty tables say nothing."""
    return {name: _said(one) if isinstance(one, dict) else one for name, one in table.items() if one != {}}


def _by_hand(file: Path) -> ConfigError:
    return ConfigError(f"{file} is written in a way in which this cannot be changed without touching the rest.",
                       hint="Edit the file.", file=str(file), line=0, key="")
