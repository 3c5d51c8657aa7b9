"""What a person allowed for good in this root: one small file that can be read, listed and taken back from.

A file that cannot be read allows nothing and is never written over. What is written is read back before it counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tomllib
from pathlib import Path

from thetis_kernel.clock import SYSTEM
from thetis_kernel.errors import UsageError
from thetis_kernel.protocol.approvals import Rule
from thetis_kernel.toolhost.authority import EFFECTS
from thetis_kernel.toolhost.authority.rules import usable

HEAD = "# What you allowed for good in this root. `thetis rules` lists it, `thetis rules revoke ID` takes one back.\n"
MAX_RULES = 500
MAX_BYTES = 1 << 20


class Rules:
    """The rules of one root, in `rules.toml` of its data directory."""

    def __init__(self, data: Path) -> None:
        self.file = data / "rules.toml"
        self._lock = asyncio.Lock()

    async def all(self) -> list[Rule]:
        """Every rule, oldest first. Raises UsageError when the file is not usable."""
        return await asyncio.to_thread(self._read)

    async def allowing(self) -> list[Rule]:
        """Every rule that counts: none when the file is not usable, for then everything is asked about."""
        try:
            return await self.all()
        except UsageError:
            return []

    async def add(self, capability: str, patterns: list[str]) -> list[Rule]:
        """Keep patterns as rules; returns once they are on the disk. Raises UsageError, and then nothing was kept."""
        if capability not in EFFECTS:
            raise UsageError(f"There is no effect {capability[:40]!r}.", hint="Effects: " + ", ".join(sorted(EFFECTS)) + ".")
        for pattern in patterns:
            if why := usable(capability, pattern):
                raise UsageError(f"This cannot be a rule: {pattern[:80]!r}.", hint=why)
        async with self._lock:
            known = await self.all()
            made: list[Rule] = []
            for pattern in patterns:
                old = next((rule for rule in known if (rule.capability, rule.pattern) == (capability, pattern)), None)
                rule = old or Rule(id=_new_id(known), capability=capability, pattern=pattern, created_ms=SYSTEM.now_ms())
                made.append(rule)
                known = known if old else [*known, rule]
            if len(known) > MAX_RULES:
                raise UsageError(f"There are {MAX_RULES} rules already.", hint="Take some back, or use a wider one.")
            await asyncio.to_thread(self._write, known)
            return made

    async def revoke(self, identifier: str) -> Rule:
        """Take a rule back. Raises UsageError when there is none of that id."""
        async with self._lock:
            known = await self.all()
            gone = next((rule for rule in known if rule.id == identifier), None)
            if gone is None:
                raise UsageError(f"There is no rule {identifier[:40]!r}.", hint="`thetis rules` lists them.")
            await asyncio.to_thread(self._write, [rule for rule in known if rule is not gone])
            return gone

    def _read(self) -> list[Rule]:
        try:
            raw = self.file.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._bad(f"cannot be read: {error.strerror}") from error
        return self._parse(raw)

    def _parse(self, raw: bytes) -> list[Rule]:
        if len(raw) > MAX_BYTES:
            raise self._bad("is too large")
        try:
            table = tomllib.loads(raw.decode("utf-8"))
            rules = [Rule(id=str(entry["id"]), capability=str(entry["capability"]), pattern=str(entry["pattern"]),
                          created_ms=int(entry.get("created_ms", 0))) for entry in table.get("rules", [])]
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise self._bad(f"does not fit: {error}") from error
        for rule in rules:
            if rule.capability not in EFFECTS or usable(rule.capability, rule.pattern):
                raise self._bad(f"holds a rule that cannot be one: {rule.id}")
        return rules

    def _write(self, rules: list[Rule]) -> None:
        """Replace the file by one that was read back and says the same."""
        text = HEAD + "".join(
            f"\n[[rules]]\nid = {_quoted(rule.id)}\ncapability = {_quoted(rule.capability)}\n"
            f"pattern = {_quoted(rule.pattern)}\ncreated_ms = {rule.created_ms}\n" for rule in rules)
        if self._parse(text.encode()) != rules:
            raise self._bad("could not be written so that it says the same")
        temporary = self.file.with_name(f".{self.file.name}.{secrets.token_hex(4)}")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(self.file)

    def _bad(self, why: str) -> UsageError:
        return UsageError(f"{self.file} {why}.", hint="Mend the file or move it away; until then everything is asked about.")


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a part of TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _new_id(known: list[Rule]) -> str:
    numbers = [int(rule.id[1:]) for rule in known if rule.id[:1] == "r" and rule.id[1:].isdigit()]
    return f"r{max(numbers, default=0) + 1}"
