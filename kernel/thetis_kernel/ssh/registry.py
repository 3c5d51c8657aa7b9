"""`ssh-hosts.local.toml` beside a root's configuration: the machines of a person, read each time one is needed.

One table a machine. The file is 0600 and the person's own, or it is not used: what a clone brings is neither. What cannot be
read fails the reading alone, with its line; nothing is written over it. A change keeps comments and every other table as they
are. Must not know what is vouched for.
"""

from __future__ import annotations

import os
import stat
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel import localfile
from thetis_kernel.errors import ConfigError
from thetis_kernel.ssh.exclude import keep_out
from thetis_kernel.ssh.host import MAX_HOSTS, Host, HostError, check_name, made
from thetis_kernel.tomlfile import MAX_BYTES, bad, decoded, edited, line_of, parse

FILE = "ssh-hosts.local.toml"
_HEAD = (
    "# Machines that agents of this repository may have shells on, once you vouch for them: `thetis ssh trust NAME`.\n"
    "# Yours alone: mode 0600, kept out of git. A path to a key, never a key.\n"
)


class Registry:
    """The machines of one root. Every method may raise ConfigError or HostError, and then nothing was changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / FILE

    def all(self) -> dict[str, Host]:
        """Every machine by name, in the order of the file; none where there is no file."""
        return self._read()[1]

    def get(self, name: str) -> Host:
        """One machine. Raises HostError when there is none of that name."""
        return _found(self.all(), name)

    def set(self, name: str, changes: dict[str, Any]) -> Host:
        """Make a machine, or change these fields of one; a value that is the default takes the field out."""
        check_name(name)
        with localfile.locked(self.file):
            text, known = self._read()
            before = msgspec.to_builtins(known[name]) if name in known else {}
            host = made(name, {**before, **changes})
            if name not in known and len(known) >= MAX_HOSTS:
                raise HostError(f"There are {MAX_HOSTS} machines already.", hint="Remove one.")
            after = msgspec.to_builtins(host)
            fields = [([name, field], after.get(field)) for field in changes]
            self._write(text, fields, {**_tables(known), name: after})
        return host

    def remove(self, name: str) -> None:
        """Take a machine out. One that others are reached through stays."""
        with localfile.locked(self.file):
            text, known = self._read()
            _found(known, name)
            _unused(known, name, "removed")
            self._write(text, [([name], None)], {key: one for key, one in _tables(known).items() if key != name})

    def rename(self, name: str, to: str) -> None:
        """Call a machine by another name, also where it is a jump; comments at its lines stay with them."""
        check_name(to)
        with localfile.locked(self.file):
            text, known = self._read()
            _found(known, name)
            if to in known:
                raise HostError(f"There is a machine {to} already.", hint="Remove that one first, or choose another name.")
            tables = {to if key == name else key: one for key, one in _tables(known).items()}
            jumps = [([key, "jump"], to) for key, one in known.items() if one.jump == name]
            for (key, _), value in jumps:
                tables[to if key == name else key]["jump"] = value
            self._write(_renamed(self.file, text, name, to), [([to if key == name else key, field], value)
                                                             for (key, field), value in jumps], tables)

    def _read(self) -> tuple[str, dict[str, Host]]:
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            return "", {}
        except OSError as error:
            raise bad(self.file, 0, "", f"cannot be read: {error.strerror}") from error
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise bad(self.file, 0, "", "is no ordinary file")
            if found.st_uid != os.geteuid():
                raise bad(self.file, 0, "", "belongs to another user")
            if found.st_mode & 0o077:
                mode = f"{stat.S_IMODE(found.st_mode):04o}"
                raise ConfigError(f"{self.file} is open to other users (mode {mode}), so it is not used.", file=str(self.file),
                                  hint=f"If it is yours and not the repository's: chmod 600 {FILE}", line=0, key="")
            with open(descriptor, "rb", closefd=False) as stream:
                raw = stream.read(MAX_BYTES + 1)
        finally:
            os.close(descriptor)
        text = decoded(self.file, raw)
        table = parse(self.file, text)
        hosts: dict[str, Host] = {}
        for name, one in table.items():
            try:
                hosts[name] = made(name, one)
            except HostError as error:
                raise bad(self.file, line_of(text, name), "", error.message.rstrip(".")) from error
        if len(hosts) > MAX_HOSTS:
            raise bad(self.file, 0, "", f"names more than {MAX_HOSTS} machines")
        return text, hosts

    def _write(self, text: str, changes: list[tuple[list[str], Any]], wanted: dict[str, dict[str, Any]]) -> None:
        changed = edited(self.file, text or _HEAD, changes, deepcopy(wanted))
        if not text:
            keep_out(self.root, FILE)
        try:
            localfile.replace(self.file, changed.encode(), mode=0o600)
        except OSError as error:
            raise bad(self.file, 0, "", f"cannot be written: {error.strerror}") from error


def _tables(known: dict[str, Host]) -> dict[str, dict[str, Any]]:
    return {name: msgspec.to_builtins(host) for name, host in known.items()}


def _found(known: dict[str, Host], name: str) -> Host:
    if name not in known:
        raise HostError(f"There is no machine {name[:60]!r}.", code="not-found",
                        hint="Known: " + (", ".join(list(known)[:50]) or "none; `thetis ssh set` adds one") + ".")
    return known[name]


def _unused(known: dict[str, Host], name: str, what: str) -> None:
    through = [key for key, one in known.items() if one.jump == name]
    if through:
        raise HostError(f"{name} cannot be {what}: {', '.join(through)} is reached through it.", hint="Change that first.")


def _renamed(file: Path, text: str, name: str, to: str) -> str:
    """The text with the table's header changed: the one line in which the name stands as a table."""
    lines = text.splitlines(keepends=True)
    at = line_of(text, name) - 1
    headers = [f"[{name}]", f'["{name}"]', f"['{name}']"]
    for header in headers:
        if 0 <= at < len(lines) and lines[at].lstrip().startswith(header):
            quoted = to if "." not in to else f'"{to}"'
            lines[at] = lines[at].replace(header, f"[{quoted}]", 1)
            return "".join(lines)
    raise ConfigError(f"{file} is written in a way in which {name} cannot be renamed without touching the rest.",
                      hint="Edit the file.", file=str(file), line=at + 1, key=name)
