"""[discord]: the read-only door in Discord. A person's own setting throughout: a checkout that could say who may talk to an
agent, or where the bot's token is, would speak for somebody else."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Snowflake = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
"""Discord's ids; names are chosen by anybody and mean nothing."""


class Discord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`token`: where the bot's token is, `env:NAME`, `file:/absolute/path` (mode 0600) or `keyring:service/user`. `mode`: of
    every conversation; it has to be read-only.

    Who is let in: `allowed_users` and `admin_users`, by id, whom an administrator paired, or with `allow_all_users` everybody
    who can write where the bot reads. `require_mention`: in channels, words count when they mention the bot, but not in
    `free_response_channels`. `own_conversations`: each person of a channel has one of their own. `edit_interval_ms`: between
    two changes of a message while an answer is written. `pairing_seconds`: how long a pairing code lives.
    """

    token: str = "env:DISCORD_BOT_TOKEN"
    mode: str = "chat"
    allowed_users: list[Snowflake] = []
    admin_users: list[Snowflake] = []
    allow_all_users: bool = False
    require_mention: bool = True
    free_response_channels: list[Snowflake] = []
    own_conversations: bool = True
    edit_interval_ms: Annotated[int, Meta(ge=250, le=60_000)] = 1200
    pairing_seconds: Annotated[int, Meta(ge=60, le=86_400)] = 900
