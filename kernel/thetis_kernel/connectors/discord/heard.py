"""What came in from Discord, as plain records: ids are numbers, text is text, nothing of the library.

One of three: words, a command, or a pressed component. Other events have no record, so nothing can follow from them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

PlaceKind = Literal["private", "channel", "thread"]
DISCORD_EPOCH_MS = 1_420_070_400_000
"""Discord's ids hold their time: milliseconds since 2015 in the bits from 22 on (its API reference, "Snowflakes")."""


class Place(msgspec.Struct, frozen=True):
    """Where something was said, by the channel's id; a thread is a channel of its own."""

    kind: PlaceKind
    channel: int


class Person(msgspec.Struct, frozen=True):
    """Who, by the id nobody can choose. `name` is what they call themselves: shown, never looked at. `human` is false for bots,
    webhooks and Discord itself."""

    id: int
    name: str
    human: bool


class Said(msgspec.Struct, frozen=True):
    """A message. `to_us`: it mentions us, or answers one of ours. `text` is without that mention."""

    id: int
    person: Person
    place: Place
    text: str
    to_us: bool


class Commanded(msgspec.Struct, frozen=True):
    """A command with its one argument, "" for none; `id` and `token` are for the answer."""

    id: int
    token: str
    person: Person
    place: Place
    name: str
    argument: str


class Pressed(msgspec.Struct, frozen=True):
    """Something was chosen or written in a form: the form's mark, and the values by the number of the question."""

    id: int
    token: str
    person: Person
    place: Place
    mark: str
    values: dict[int, list[str]]
    written: bool


Heard: TypeAlias = Said | Commanded | Pressed


def time_of(snowflake: int) -> int:
    """When an id was made, in milliseconds since 1970."""
    return (snowflake >> 22) + DISCORD_EPOCH_MS


def snowflake_at(ms: int) -> int:
    """The least id of a time."""
    return max(0, ms - DISCORD_EPOCH_MS) << 22
