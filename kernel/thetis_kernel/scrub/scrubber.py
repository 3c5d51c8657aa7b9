"""Taking secrets out of texts, of JSON by its strings, and of live output that comes in pieces.

Owns what stands in a secret's place. Must not know where texts go.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from thetis_kernel.protocol.known import Known, Print
from thetis_kernel.scrub import shapes
from thetis_kernel.scrub.prints import SHORTEST, Finder, new_salt, prints_of

REMOVED = "[secret removed]"
OPAQUE = frozenset({"signature", "data", "id", "digest", "hash", "event_id", "call", "turn"})
"""Strings of a body that are nobody's words: a provider's signature must come back as it was."""
MOST_KNOWN = 2000
MOST_CLEAN = 50_000
"""Texts remembered as free of secrets: the same ones come in every request of a conversation."""
_HELD = 512
"""Characters of an unfinished run that live output waits for; keys are shorter."""


class Scrubber:
    """All that is known to be secret in one gateway. Adding is safe from any thread: the finder is replaced as one."""

    def __init__(self, salt: bytes = b"") -> None:
        self.salt = salt or new_salt()
        self._finder = Finder((), self.salt)
        self._clean: dict[tuple[int, int], None] = {}
        self._clean_items: dict[tuple[int, int], None] = {}
        """Of JSON, not of text: the same bytes may hold a secret as the one that they hide as the other."""

    @property
    def known(self) -> Known:
        """What another process needs to find the same values."""
        return Known(salt=self.salt, prints=list(self._finder.prints))

    def learn(self, *values: str) -> None:
        """Values that must not appear anywhere."""
        self.take([one for value in values for one in prints_of(value, self.salt)])

    def take(self, prints: list[Print]) -> None:
        """Prints made elsewhere with the same salt."""
        self._finder = Finder((*self._finder.prints, *prints)[:MOST_KNOWN], self.salt)
        self._clean, self._clean_items = {}, {}

    def knows(self, data: bytes) -> bool:
        """Whether a known value stands in these bytes. Shapes do not count: they may be somebody's test data."""
        return bool(self._finder.find(data))

    def places(self, data: bytes) -> list[tuple[int, int]]:
        """(start, end) of the known values in these bytes."""
        return self._finder.find(data)

    def text(self, text: str) -> str:
        """The text with each secret replaced; the same object when there is none."""
        mark = (hash(text), len(text))
        if len(text) < SHORTEST or mark in self._clean:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        known = self._finder.find(raw)
        if known:
            text = _without(raw, known, REMOVED.encode()).decode("utf-8", "surrogatepass")
        found = sorted(shapes.find(text))
        if found:
            return _without(text, found, REMOVED)
        if not known:
            if len(self._clean) >= MOST_CLEAN:
                self._clean.clear()
            self._clean[mark] = None
        return text

    def json(self, raw: bytes) -> bytes:
        """JSON text with the strings in it scrubbed; the same bytes when there is nothing. Raises msgspec.DecodeError."""
        value = msgspec.json.decode(raw)
        scrubbed = self.value(value)
        return raw if scrubbed is value else msgspec.json.encode(scrubbed)

    def growing(self, raw: bytes) -> bytes:
        """`json` for an object whose lists come again and again with more in them: items that were clean are not walked anew."""
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        clean = {self.text(key): self._grown(key, held) for key, held in members.items()}
        same = len(clean) == len(members) and all(clean.get(key) is held for key, held in members.items())
        return raw if same else msgspec.json.encode(clean)

    def _grown(self, key: str, held: msgspec.Raw) -> msgspec.Raw:
        """A member of such an object; the same object when there is nothing."""
        if not bytes(held).startswith(b"["):
            value = msgspec.json.decode(held)
            scrubbed = self._member(key, value)
            return held if scrubbed is value else msgspec.Raw(msgspec.json.encode(scrubbed))
        items = msgspec.json.decode(held, type=list[msgspec.Raw])
        new = [self._item(item) for item in items]
        same = all(one is item for one, item in zip(new, items, strict=True))
        return held if same else msgspec.Raw(msgspec.json.encode(new))

    def _item(self, item: msgspec.Raw) -> msgspec.Raw:
        data = bytes(item)
        mark = (hash(data), len(data))
        if mark in self._clean_items:
            return item
        value = msgspec.json.decode(data)
        scrubbed = self.value(value)
        if scrubbed is not value:
            return msgspec.Raw(msgspec.json.encode(scrubbed))
        if len(self._clean_items) >= MOST_CLEAN:
            self._clean_items.clear()
        self._clean_items[mark] = None
        return item

    def value(self, value: Any) -> Any:
        """A JSON value with the strings in it scrubbed, keys too; the same object when there is nothing."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            items = [self.value(one) for one in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if isinstance(value, dict):
            pairs = [(self.text(key), self._member(key, one)) for key, one in value.items()]
            same = all(k is key and v is one for (k, v), (key, one) in zip(pairs, value.items(), strict=True))
            return value if same else dict(pairs)
        return value

    def _member(self, key: str, value: Any) -> Any:
        if key in OPAQUE and isinstance(value, str):
            return REMOVED if self._finder.find(value.encode("utf-8", "replace")) else value
        return self.value(value)


class Live:
    """Output that comes in pieces: a run that is not over is held back, so no secret is shown half by half."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        whole = self._held + text
        cut = max(whole.rfind(" "), whole.rfind("\n"), whole.rfind("\t"), len(whole) - _HELD - 1) + 1
        self._held = whole[cut:]
        return self._scrubber.text(whole[:cut])


Text = TypeVar("Text", str, bytes)


def _without(text: Text, places: list[tuple[int, int]], instead: Text) -> Text:
    """The text with `instead` at each place; a place that begins inside another one is part of it."""
    parts: list[Text] = []
    done = 0
    for start, end in places:
        if start >= done:
            parts += [text[done:start], instead]
        done = max(done, end)
    parts.append(text[done:])
    return text[:0].join(parts)
