"""A tool's request to the network: read, compared with the tool's own list, permitted, handed to the process that has one.

The worker connects to nothing itself. The gateway reads the list again from the person's settings; the look here only spares
a person a question about what would be refused anyway.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec

from thetis_kernel.errors import Refused
from thetis_kernel.net import allow
from thetis_kernel.protocol.net import Fetched, Wanted
from thetis_kernel.toolhost import authority
from thetis_kernel.toolhost.authority import Intended, Subject
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.operations import BadArguments

_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.I)


def http(context: TurnContext, tool: str, call: str, request_json: str) -> dict[str, Any]:
    """The JSON of sandbox.http. Raises BadArguments, Refused, or what the net host says."""
    try:
        wanted = msgspec.json.decode(request_json, type=Wanted)
    except msgspec.MsgspecError as error:
        raise BadArguments(f"The request does not fit: {error}.",
                           hint="It takes: url, method, headers, body, timeout_ms, max_bytes.") from error
    target = allow.target(wanted.url)
    allow.check(target.origin, allow.listed(_hosts(context, tool)))
    origin = str(target.origin)
    authority.permit(context, "sandbox.http", call, Intended(
        what=f"{wanted.method.upper()[:20]} {target}"[:300], detail=_whole(wanted, str(target)), where=origin,
        subjects=(Subject(origin, rule=origin, session=origin, wide=False),)))
    if context.fetch is None:
        raise Refused("There is no network here.", capability="http")
    return _answer(context.fetch(tool, wanted))


def named(request_json: str) -> str:
    """A request in a few words, without what follows the path of its address: that may hold a secret."""
    try:
        wanted = msgspec.json.decode(request_json, type=Wanted)
    except msgspec.MsgspecError:
        return "a request that does not fit"
    return f"{wanted.method.upper()[:20]} {wanted.url.partition('?')[0].partition('#')[0]}"


def _hosts(context: TurnContext, tool: str) -> list[str]:
    guest = context.guests.get(tool)
    block = msgspec.json.decode(guest.config) if guest is not None else {}
    hosts = block.get("hosts", []) if isinstance(block, dict) else []
    return [host for host in hosts if isinstance(host, str)] if isinstance(hosts, list) else []


def _whole(wanted: Wanted, url: str) -> str:
    """The request as a person reads it before it goes out."""
    lines = [f"{wanted.method.upper()} {url}", *(f"{name}: {value}" for name, value in wanted.headers.items())]
    return "\n".join(lines) + (f"\n\n{wanted.body}" if wanted.body else "")


def _answer(fetched: Fetched) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": fetched.status, "url": fetched.url, "headers": fetched.headers, "body": "",
                              "truncated": fetched.truncated}
    text = _text(fetched)
    if text is None:
        return {**answer, "base64": base64.b64encode(fetched.body).decode()}
    return {**answer, "body": text}


def _text(fetched: Fetched) -> str | None:
    """The body as text, None when it is none. A cut in the middle of a character costs that character alone."""
    if b"\0" in fetched.body[:8192]:
        return None
    named = _CHARSET.search(fetched.headers.get("content-type", ""))
    try:
        return fetched.body.decode(named.group(1) if named else "utf-8", "ignore" if fetched.truncated else "strict")
    except (LookupError, UnicodeError):
        return fetched.body.decode("utf-8", "replace") if named else None
