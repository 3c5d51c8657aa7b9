"""What goes out to Discord, as requests the library paces by Discord's own limits. No request can mention or wake anybody.

Runs on the library's loop. Must not know what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aiohttp
import discord
from discord.http import HTTPClient, Route

from thetis_kernel.connectors.discord.poster import Unsent

QUIET = {"parse": [], "replied_user": False}
"""Allowed mentions: none, not even of whom it answers."""
NO_PREVIEWS, FOR_ONE = 4, 64
"""Flags of messages: links are not opened for a preview; only one person sees it."""
UNKNOWN_MESSAGE = 10008
PASSING = frozenset({408, 429})


async def send(http: HTTPClient, channel: int, content: str, *, reply_to: int = 0, nonce: str = "",
               components: Sequence[dict[str, Any]] = ()) -> int:
    """Post a message; its id. The same `nonce` again within some minutes is the same message. Raises Unsent."""
    payload: dict[str, Any] = {"content": content, "allowed_mentions": QUIET, "flags": NO_PREVIEWS,
                               "components": list(components)}
    if nonce:
        payload |= {"nonce": nonce, "enforce_nonce": True}
    if reply_to:
        payload["message_reference"] = {"message_id": str(reply_to), "channel_id": str(channel), "fail_if_not_exists": False}
    made = await _request(http, Route("POST", "/channels/{channel_id}/messages", channel_id=channel), payload)
    return int(made["id"])


async def edit(http: HTTPClient, channel: int, message: int, content: str, *,
               components: Sequence[dict[str, Any]] | None = None) -> None:
    """Change a message of ours. Raises Unsent."""
    payload: dict[str, Any] = {"content": content, "allowed_mentions": QUIET, "flags": NO_PREVIEWS}
    if components is not None:
        payload["components"] = list(components)
    await _request(http, Route("PATCH", "/channels/{channel_id}/messages/{message_id}", channel_id=channel, message_id=message),
                   payload)


async def delete(http: HTTPClient, channel: int, message: int) -> None:
    """Take a message of ours away. Raises Unsent."""
    await _request(http, Route("DELETE", "/channels/{channel_id}/messages/{message_id}", channel_id=channel, message_id=message))


async def acknowledge(http: HTTPClient, interaction: int, token: str, kind: int, data: dict[str, Any] | None = None) -> None:
    """Answer an interaction at once, which Discord waits three seconds for. Raises Unsent."""
    route = Route("POST", "/interactions/{interaction_id}/{token}/callback", interaction_id=interaction, token=token)
    await _request(http, route, {"type": kind, "data": data or {}})


async def respond(http: HTTPClient, application: int, token: str, content: str, *, deferred: bool) -> None:
    """Say something to whoever made an interaction, to them alone. `deferred`: it stands where an answer was promised."""
    path = "/webhooks/{application_id}/{token}" + ("/messages/@original" if deferred else "")
    route = Route("PATCH" if deferred else "POST", path, application_id=application, token=token)
    await _request(http, route, {"content": content, "allowed_mentions": QUIET, "flags": FOR_ONE})


async def _request(http: HTTPClient, route: Route, payload: dict[str, Any] | None = None) -> Any:
    """One request. The library's messages name no token; its exceptions hold what Discord answered, of which we keep the code."""
    try:
        return await http.request(route, json=payload) if payload is not None else await http.request(route)
    except discord.HTTPException as error:
        lasting = 400 <= error.status < 500 and error.status not in PASSING
        raise Unsent(f"HTTP {error.status}, code {error.code}", lasting=lasting, gone=error.code == UNKNOWN_MESSAGE) from None
    except (OSError, aiohttp.ClientError, TimeoutError, RuntimeError) as error:
        raise Unsent(type(error).__name__, lasting=False) from None  # no connection, or its session is being made anew
