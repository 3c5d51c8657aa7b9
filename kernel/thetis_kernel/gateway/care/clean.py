"""A conversation as it may be shown to others: without secrets, and without anything of the registry of machines.

The log lost the secrets that were known when it was written; what was learnt since, and what has the shape of one, goes here.
The registry's words go by themselves, its comments aside: names of machines, addresses, logins at addresses, paths of keys.
Must not know what form the export has.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel.protocol.events import Event
from thetis_kernel.scrub.scrubber import Scrubber
from thetis_kernel.ssh.registry import FILE

MACHINE = "[machine]"
UNREADABLE = "[not shown: this event cannot be read]"
MAX_FILE = 256 * 1024
_PLAIN = frozenset({"kind", "outcome", "origin", "mode", "op", "relation", "end", "stopped_by"})
"""Fields whose values are words of the contract, which a machine may be called like."""
_FIELDS = ("host", "identity_file", "jump", "remote_cwd")
_TABLE = re.compile(r"^\s*\[\s*[\"']?([^\]\"'.]{1,80})", re.M)
_VALUE = re.compile(r"^\s*(?:host|identity_file|jump|remote_cwd)\s*=\s*[\"']([^\"'\n]{1,400})", re.M)


def machine_words(root: Path) -> list[str]:
    """What the registry of a root says, longest first; of one that cannot be parsed, what looks like it."""
    try:
        raw = (root / FILE).read_bytes()[:MAX_FILE]
    except OSError:
        return []
    text = raw.decode("utf-8", "replace")
    try:
        found = set(_words(tomllib.loads(text)))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        found = {match[1] for pattern in (_TABLE, _VALUE) for match in pattern.finditer(text)}
    return sorted((word for word in found if len(word) > 1), key=lambda word: (-len(word), word))


class Cleaner:
    """Takes both out of texts and events. The words are those of the moment it is made."""

    def __init__(self, scrubber: Scrubber, root: Path) -> None:
        self._scrubber = scrubber
        words = machine_words(root)
        # Words of a name are those of host names: a name inside a longer one is another name.
        either = "|".join(re.escape(word) for word in words)
        self._machines = re.compile(rf"(?<![\w-])(?:[\w.-]+@)?(?:{either})(?![\w-])", re.I) if words else None

    def text(self, text: str) -> str:
        """The text as it may be shown."""
        clean = self._scrubber.text(text)
        return self._machines.sub(MACHINE, clean) if self._machines is not None else clean

    def event(self, event: Event) -> Event:
        """The event with every string of its body cleaned, keys too."""
        try:
            body = msgspec.json.decode(self._scrubber.json(event.raw))
            raw = msgspec.json.encode(self._value(body, ""))
        except (msgspec.MsgspecError, RecursionError):
            raw = msgspec.json.encode({"kind": event.kind, "text": UNREADABLE})
        return msgspec.structs.replace(event, raw=raw)

    def _value(self, value: Any, under: str) -> Any:
        if isinstance(value, str):
            return value if under in _PLAIN else self.text(value)
        if isinstance(value, list):
            return [self._value(one, under) for one in value]
        if isinstance(value, dict):
            return {self.text(key): self._value(one, key) for key, one in value.items()}
        return value


def _words(table: dict[str, Any]) -> Iterator[str]:
    for name, one in table.items():
        yield name
        if isinstance(one, dict):
            yield from (value for field in _FIELDS if isinstance(value := one.get(field), str) and value not in ("", "~", "/"))
