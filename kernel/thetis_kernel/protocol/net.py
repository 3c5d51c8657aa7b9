"""What the net host is asked: one request of a tool to a host that is on the tool's list."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.wire import Ask


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request as a tool describes it. `timeout_ms` and `max_bytes` (of the body that comes back): 0 is the host's default."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: str = ""
    timeout_ms: int = 0
    max_bytes: int = 0


class Fetched(msgspec.Struct, frozen=True):
    """What came back. `url` is where it came from after redirects; `headers` have lower-case names; `truncated` when the
    body went on."""

    status: int
    url: str
    headers: dict[str, str]
    body: bytes
    truncated: bool = False


class Fetch(Ask[Fetched], frozen=True, tag="net.fetch"):
    """Carry out a request. `hosts` is the list it and every redirect must stay on, in the form of `net.allow`."""

    wanted: Wanted
    hosts: list[str]


NET_ASKS = (Fetch,)
