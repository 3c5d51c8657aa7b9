"""Looking at a checkout: what of it would run or be believed, and one digest over exactly those files.

Reads files as bytes, follows no link, runs nothing. Every text in an item is a stranger's. Must not know what was trusted.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec

from thetis_kernel.config.settings import USER_ONLY
from thetis_kernel.errors import UsageError
from thetis_kernel.paths import builtin_root

Kind = Literal["guest", "skill", "setting", "command", "path"]

GUESTS = {"aspects/agent_core": "agent", "aspects/gateway_tui": "gateway/tui"}
"""Directory -> aspect; besides, every directory below tools/ that has a manifest."""
MANIFEST, SKILL = "guest.toml", "SKILL.md"
FILES = ("thetis.toml", "thetis.local.toml")
COMMANDS = ("worktree.setup", "worktree.link", "worktree.copy")
MAX_FILES, MAX_FILE, MAX_DEPTH, MAX_SETTINGS = 2000, 1 << 20, 10, 256 * 1024
MAX_DETAIL, MAX_DIRECTORIES = 300, 8
PLURALS = {"guest": "guests", "skill": "skills", "setting": "settings", "command": "commands", "path": "paths"}


class Item(msgspec.Struct, frozen=True):
    """One thing. `where`: its file or directory, relative to the root."""

    kind: Kind
    name: str
    where: str
    detail: str = ""


class Offer(msgspec.Struct, frozen=True):
    """What a root brings. `digest` covers names, kinds and contents of every file behind the items."""

    root: str
    items: list[Item]
    digest: str

    @property
    def summary(self) -> str:
        """The items counted, as "2 guests, 1 skill and 3 settings"."""
        counts = Counter(item.kind for item in self.items)
        words = [f"{count} {PLURALS[kind] if count > 1 else kind}" for kind, count in counts.items()]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def look(root: Path) -> Offer:
    """Look at the root's files as they are now. Raises UsageError when there is more than a person could have meant."""
    found = _Look(root)
    if root.resolve() != builtin_root().resolve():  # the checkout Thetis itself runs from: these are the shipped ones
        _guests(root, found)
        for directory in ("skills", *_more_skills(root)):
            _skills(root, directory, found)
    for name in FILES:
        found.settings(name)
    return found.offer()


def _guests(root: Path, found: _Look) -> None:
    for name in sorted({*GUESTS, *(f"tools/{one}" for one in _names(root / "tools"))}):
        if not name.rpartition("/")[2].startswith((".", "_")) and _is_file(root / name / MANIFEST) and _real(root, name):
            found.directory("guest", GUESTS.get(name, name.replace("tools/", "tool/")), name)


def _skills(root: Path, directory: str, found: _Look) -> None:
    for one in _names(root / directory):
        if _is_file(root / directory / one / SKILL) and _real(root, f"{directory}/{one}"):
            found.directory("skill", one, f"{directory}/{one}")
        elif one.endswith(".md") and _is_file(root / directory / one) and _real(root, directory):
            found.file("skill", one.removesuffix(".md"), f"{directory}/{one}")


def _more_skills(root: Path) -> list[str]:
    """Directories of skills the root's own files name in [paths] skills: relative and inside it, or they are left out."""
    named: list[Any] = []
    for name in FILES:
        if _is_file(root / name):
            try:
                table = tomllib.loads(_read(root / name, MAX_SETTINGS).decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            listed = _at(table, "paths.skills")
            named += listed if isinstance(listed, list) else [listed]
    clean = [one.strip("/") for one in named if isinstance(one, str) and not one.startswith("/")]
    return [one for one in dict.fromkeys(clean) if one and one != "skills" and ".." not in one.split("/")][:MAX_DIRECTORIES]


class _Look:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._items: list[Item] = []
        self._digest = hashlib.sha256(b"thetis-trust-1")
        self._count = 0

    def offer(self) -> Offer:
        return Offer(str(self._root.resolve()), self._items, self._digest.hexdigest() if self._items else "")

    def directory(self, kind: Kind, name: str, where: str) -> None:
        """Everything below a directory, links by what they say."""
        before = self._count
        self._walk(where, 0)
        self._items.append(Item(kind, name, where, f"{self._count - before} files"))

    def file(self, kind: Kind, name: str, where: str) -> None:
        self._add(where, b"file", _read(self._root / where, MAX_FILE))
        self._items.append(Item(kind, name, where))

    def settings(self, name: str) -> None:
        """The settings of a file that only a person may make, the commands and paths in it."""
        if not _is_file(self._root / name):
            return
        raw = _read(self._root / name, MAX_SETTINGS)
        try:
            table = tomllib.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            return  # loading it says what is wrong; nothing of it is believed
        keys = sorted({*USER_ONLY, *COMMANDS} - {"worktree", "paths"})
        wanted = [(key, "command" if key in COMMANDS else "setting") for key in keys]
        found = [Item("command" if kind == "command" else "setting", key, name, _told(value))
                 for key, kind in wanted if (value := _at(table, key)) is not None]
        paths = table.get("paths")
        if isinstance(paths, dict):
            found += [Item("path", f"paths.{key}", name, _told(value)) for key, value in paths.items()]
        if found:
            self._add(name, b"file", raw)
            self._items += found

    def _walk(self, where: str, depth: int) -> None:
        for one in _names(self._root / where):
            if one in ("__pycache__", ".git"):
                continue
            path, name = self._root / where / one, f"{where}/{one}"
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                if depth >= MAX_DEPTH:
                    raise _too_much(name)
                self._walk(name, depth + 1)
            elif stat.S_ISLNK(mode):
                self._add(name, b"link", os.fsencode(os.readlink(path)))
            elif stat.S_ISREG(mode):
                self._add(name, b"file", _read(path, MAX_FILE))
            else:
                self._add(name, b"other", b"")

    def _add(self, name: str, kind: bytes, data: bytes) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            raise _too_much(name)
        for part in (os.fsencode(name), kind, data):
            self._digest.update(len(part).to_bytes(8, "big"))
            self._digest.update(part)


def _names(directory: Path) -> list[str]:
    if directory.is_symlink():
        return []
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _real(root: Path, where: str) -> bool:
    """Whether no part of the way is a link: what lies elsewhere is not what the checkout brings."""
    parts = where.split("/")
    return not any((root / "/".join(parts[: at + 1])).is_symlink() for at in range(len(parts)))


def _read(path: Path, most: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise _too_much(str(path))
    return data


def _at(table: dict[str, Any], dotted: str) -> Any:
    value: Any = table
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _told(value: Any) -> str:
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= MAX_DETAIL else text[:MAX_DETAIL] + "..."


def _too_much(name: str) -> UsageError:
    return UsageError(f"{name} is more than can be trusted at a glance.",
                      hint=f"At most {MAX_FILES} files of {MAX_FILE >> 20} MiB, {MAX_DEPTH} directories deep.", code="trust")
