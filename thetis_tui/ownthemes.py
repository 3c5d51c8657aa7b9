"""A person's own colours: `themes/dark.toml` beside their configuration changes what the dark theme says, and so for the others.

    accent = "orange"
    text-muted = "gray"

Pure: a theme and the text of a file come in, a theme or the sentence about what is wrong goes out. Must not know the app.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields, replace

from textual.color import Color, ColorParseError
from textual.theme import Theme

MOST = 64 * 1024
"""Bytes of such a file that are read."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,48}")
_STYLE = re.compile(r"(none|bold|dim|italic|underline|reverse|strike)( (bold|dim|italic|underline|reverse|strike))*")
_COLOURS = tuple(field.name for field in fields(Theme) if field.name not in (
    "name", "dark", "ansi", "luminosity_spread", "text_alpha", "variables"))


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why a file changes nothing, a sentence."""

    message: str


def changed(base: Theme, text: str) -> Theme | Wrong:
    """`base` with the colours `text` (TOML) gives; its name stays."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Wrong(f"it is no TOML: {error}")
    named: dict[str, str] = {}
    variables = dict(base.variables)
    for key, value in table.items():
        if not isinstance(value, str) or not _NAME.fullmatch(key):
            return Wrong(f"{key[:48]!r} is no name of a colour with a text for it")
        if why := _unfit(key, value):
            return Wrong(why)
        if key in _COLOURS:
            named[key] = value
        else:
            variables[key] = value
    return replace(base, variables=variables, **named)  # type: ignore[arg-type] # the names are the theme's own fields


def _unfit(key: str, value: str) -> str:
    """Why `value` cannot stand there, "" when it can."""
    if key.endswith("-style"):
        return "" if _STYLE.fullmatch(value) else f"{key} cannot be {value[:40]!r}: bold, italic, underline, dim, reverse or none"
    colour, _, share = value.partition(" ")
    try:
        Color.parse(colour)
    except ColorParseError:
        return f"{key} cannot be {value[:40]!r}: a colour is three or six hexadecimal digits after #, or a name as CSS has them"
    if share and not re.fullmatch(r"\d{1,3}%", share):
        return f"{key} cannot be {value[:40]!r}: after a colour there may be a share, as 30%"
    return ""
