"""The list of hosts a tool may reach: exact names, never a pattern; an empty list is nobody.

    "example.org"                https, port 443
    "example.org:8443"           https, that port
    "http://example.org"         plain http, port 80 (or as written)

Owns the reading of URLs: what is connected to is built from the parts found here, so no second reader can see another
host in the same text. Must not know addresses.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

import msgspec

from thetis_kernel.errors import Refused, ThetisError

PORTS = {"https": 443, "http": 80}
MAX_URL = 8192
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_SIXES = re.compile(r"[0-9a-f:.]+")


class Origin(msgspec.Struct, frozen=True):
    """Scheme, host (lower case, ASCII; an IPv6 address without brackets) and port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")


class Target(msgspec.Struct, frozen=True):
    """A URL that was understood: its origin and what is asked of it (path and query)."""

    origin: Origin
    path: str

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"


class NotAUrl(ThetisError):
    """A text that is no usable http or https URL; the message says why."""

    code = "bad-arguments"


def target(url: str) -> Target:
    """Read a URL. Raises NotAUrl: anything two readers could understand differently is refused."""
    if not url or len(url) > MAX_URL or any(ord(char) <= 0x20 or ord(char) == 0x7F or char == "\\" for char in url):
        raise NotAUrl("The URL is empty, too long, or holds spaces, control characters or backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise NotAUrl(f"The URL cannot be read: {error}.") from error
    if parts.scheme not in PORTS:
        raise NotAUrl("Only http and https URLs can be fetched.")
    if "@" in parts.netloc:
        raise NotAUrl("The URL holds a user name or password.", hint="Credentials do not belong into a URL.")
    host = _host(parts.hostname or "")
    if port == 0 or not host:
        raise NotAUrl("The URL names no host that can be reached.")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    query = "?" + quote(parts.query, safe="/%:@!$&'()*+,;=-._~?[]") if parts.query else ""
    return Target(Origin(parts.scheme, host, port or PORTS[parts.scheme]), path + query)


def listed(hosts: list[str]) -> frozenset[Origin]:
    """The origins of a list. Raises NotAUrl for an entry that is no host: a list is wrong rather than wider than meant."""
    found = set()
    for entry in hosts:
        url = entry if entry.startswith(("http://", "https://")) else f"https://{entry}"
        try:
            read = target(url)
        except NotAUrl as error:
            raise NotAUrl(f"{entry[:200]!r} is no host name: {error.message}", hint='Write "example.org".') from error
        if read.path != "/" or entry.endswith("/"):
            raise NotAUrl(f"{entry[:200]!r} is more than a host name.", hint='Write "example.org".')
        found.add(read.origin)
    return frozenset(found)


def check(origin: Origin, allowed: frozenset[Origin]) -> None:
    """Return when the origin is on the list. Raises Refused, which names both."""
    if origin in allowed:
        return
    names = ", ".join(sorted(str(one) for one in allowed)) or "none"
    raise Refused(f"{origin} is not on this tool's list of hosts.", capability="http",
                  hint=f"Allowed: {names}. A person can add hosts in the tool's own configuration block.")


def _host(text: str) -> str:
    """The host in its one form, "" when it is none."""
    host = text.lower().rstrip(".")
    if ":" in host:
        return host if _SIXES.fullmatch(host) else ""
    try:
        host = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return ""
    return host if len(host) <= 253 and all(_LABEL.fullmatch(label) for label in host.split(".")) else ""
