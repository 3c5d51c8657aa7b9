"""Keys of one's own: what `[screen.keys]` says, against the commands there are.

    [screen.keys]
    new = "ctrl+t"
    log = "f7,alt+l"
    theme = "none"

Pure. Must not know the app. A command keeps its own keys when what is said of it cannot be used, and that is told.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from thetis_tui.commands import ALL, BY_ID, Command
from thetis_tui.commands.base import UNPRESSED

PREFIX = "thetis."
NONE = "none"
"""Said of a command that is to have no key."""
_KEY = re.compile(r"((ctrl|alt|shift|super)\+)*([a-z0-9]|[a-z]+(_[a-z]+)*|f[0-9]{1,2})")
_KEPT = frozenset({"enter", "ctrl+c", "backspace", "up", "down", "left", "right", "space", "shift+enter", "ctrl+j", "ctrl+p"})
"""Keys one types and gets out with: no command takes them away."""


def unusable(key: str) -> str:
    """Why a key cannot be a command's, "" when it can."""
    if not _KEY.fullmatch(key):
        return f"{key[:40]!r} is no key: they are written ctrl+n, alt+shift+x, f7"
    if key in _KEPT:
        return f"{key} stays what it is"
    if len(key) == 1 or (key.startswith("shift+") and len(key) == 7):
        return f"{key} is typed into the prompt"
    return ""


def remappable() -> tuple[Command, ...]:
    """The commands whose keys may be others."""
    return tuple(command for command in ALL if len(command.bindings()) == 1)


def read(said: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """(keys by the id of a command, sentences about what cannot be used) of the table."""
    keys: dict[str, str] = {}
    wrong: list[str] = []
    able = {command.id for command in remappable()}
    for name, value in said.items():
        if name not in able:
            near = difflib.get_close_matches(name, able, n=1)
            wrong.append(f"screen.keys: there is no command {name[:40]!r}" + (f"; did you mean {near[0]}?" if near else "."))
            continue
        if value == NONE and name != "quit":
            keys[name] = ""
            continue
        parts = [part.strip().lower() for part in str(value).split(",") if part.strip()]
        why = next((why for part in parts if (why := unusable(part))), "" if parts else "it names no key")
        if why:
            wrong.append(f"screen.keys.{name}: {why}.")
        else:
            keys[name] = ",".join(parts)
    return keys, wrong


def bindings(keys: Mapping[str, str]) -> dict[str, str]:
    """What Textual is given: for each id its keys, those of commands that share a key with one that moves said once more."""
    out = {PREFIX + name: own or UNPRESSED for name, own in keys.items()}
    moved = {key for name in keys for key in BY_ID[name].keys.split(",") if key}
    for command in ALL:
        shares = moved & set(command.keys.split(","))
        if shares and command.id not in keys and len(command.bindings()) == 1:
            out[PREFIX + command.id] = command.keys  # Textual takes the key away from all that had it
    taken = {key: name for name, own in keys.items() for key in own.split(",") if key}
    for command in ALL:
        lost = set(command.keys.split(",")) & set(taken)
        if lost and command.id not in keys and len(command.bindings()) == 1:
            left = [key for key in command.keys.split(",") if key not in taken]
            out[PREFIX + command.id] = ",".join(left) or UNPRESSED
    return out


def clashes(keys: Mapping[str, str], name: str, key: str) -> list[Command]:
    """The other commands that would lose `key` to `name`, as things stand."""
    return [other for other in ALL if other.id != name and key in keys.get(other.id, other.keys).split(",")]


def names(keys: str) -> str:
    """Keys for people: ctrl+n, f2."""
    return ", ".join({"escape": "esc"}.get(key, key) for key in keys.split(",") if key)
