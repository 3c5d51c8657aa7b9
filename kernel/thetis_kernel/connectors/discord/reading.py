"""From what the library and Discord hand over to records. Whatever is missing, null, or of another kind makes no record.

Messages come as the library's objects, because it knows which channel is a thread; interactions as Discord sent them, because
there the library raises on values that are null.
"""

from __future__ import annotations

from typing import Any

import discord

from thetis_kernel.connectors.discord import forms
from thetis_kernel.connectors.discord.heard import Commanded, Heard, Person, Place, PlaceKind, Pressed, Said

ORDINARY = frozenset({discord.MessageType.default, discord.MessageType.reply})
"""Kinds of messages a person writes; the others are Discord's own notices."""
MAX_NAME = 32
COMMAND, COMPONENT, MODAL = 2, 3, 5
"""Types of interactions (0 and 1 are not for us; 4 asks for completions)."""
_PRIVATE, _GROUP, _THREADS = 1, 3, frozenset({10, 11, 12})
"""Types of channels."""


def said(message: discord.Message, me: int, known: PlaceKind | None = None) -> Said | None:
    """A message; None for one no person wrote here. `known`: the kind of its channel, where the library does not know it."""
    kind = _kind(message.channel) or known
    if kind is None or message.type not in ORDINARY:
        return None
    author = message.author
    human = not (author.bot or author.system or message.webhook_id is not None or author.id == me)
    to_us = any(user.id == me for user in message.mentions)
    text = message.content
    for mention in (f"<@{me}>", f"<@!{me}>"):
        text = text.replace(mention, " ")
    return Said(id=message.id, person=Person(author.id, author.display_name[:MAX_NAME], human),
                place=Place(kind, message.channel.id), text=text.strip(), to_us=to_us)


def interaction(data: dict[str, Any]) -> Heard | str:
    """A command or a press; or, in words for whoever did it, why it is none ("" for nothing to say)."""
    channel, user = _table(data, "channel"), _table(data, "user") or _table(_table(data, "member"), "user")
    inner = _table(data, "data")
    identifier, token = _id(data.get("id")), data.get("token")
    person, place = _id(user.get("id")), _id(data.get("channel_id")) or _id(channel.get("id"))
    if not (identifier and isinstance(token, str) and token and person):
        return ""
    if not place or channel.get("type") == _GROUP:
        return "This works in a server or in a private message to me."
    private = channel.get("type") == _PRIVATE or (not channel.get("type") and not data.get("guild_id"))
    kind: PlaceKind = "private" if private else "thread" if channel.get("type") in _THREADS else "channel"
    who = Person(person, str(user.get("username", ""))[:MAX_NAME], not (user.get("bot") or user.get("system")))
    where = Place(kind, place)
    if data.get("type") == COMMAND:
        options = inner.get("options")
        first = options[0] if isinstance(options, list) and options and isinstance(options[0], dict) else {}
        value = first.get("value", "")
        return Commanded(identifier, token, who, where, str(inner.get("name", ""))[:40], value if isinstance(value, str) else "")
    found = forms.parsed(str(inner.get("custom_id", "")))
    if data.get("type") not in (COMPONENT, MODAL) or found is None:
        return "This cannot be used here."
    mark, pressed = found
    written = data.get("type") == MODAL
    values = _written(inner) if written else {int(pressed): _texts(inner.get("values"))} if pressed.isdecimal() else {}
    return Pressed(identifier, token, who, where, mark, values, written)


def asks_for_words(data: dict[str, Any]) -> tuple[str, int] | None:
    """The mark and the number of fields when the button for answers in words was pressed."""
    found = forms.parsed(str(_table(data, "data").get("custom_id", "")))
    if data.get("type") != COMPONENT or found is None or not found[1].startswith("w") or len(found[1]) < 2:
        return None
    return found[0], forms.count_of(found[1])


def _kind(channel: object) -> PlaceKind | None:
    if isinstance(channel, discord.DMChannel):
        return "private"
    if isinstance(channel, discord.Thread):
        return "thread"
    return "channel" if isinstance(channel, discord.abc.GuildChannel) else None


def _written(inner: dict[str, Any]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    rows = inner.get("components")
    for row in rows[:forms.MAX_INPUTS] if isinstance(rows, list) else []:
        fields = row.get("components") if isinstance(row, dict) else None
        for field in fields[:1] if isinstance(fields, list) else []:
            name, value = (field.get("custom_id"), field.get("value")) if isinstance(field, dict) else (None, None)
            if isinstance(name, str) and name in "01234" and len(name) == 1 and isinstance(value, str):
                found[int(name)] = [value]
    return found


def _texts(values: object) -> list[str]:
    return [value for value in values[:forms.MAX_OPTIONS] if isinstance(value, str)] if isinstance(values, list) else []


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _id(value: object) -> int:
    """A numeric id, 0 for anything else."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20 else 0
