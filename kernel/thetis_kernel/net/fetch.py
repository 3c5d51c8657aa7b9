"""One request: each hop is on the list, each name is resolved once, and the connection goes to the address that was judged.

There are no proxies, no cookies, no .netrc and no environment here, no second look-up between check and connect (DNS
rebinding), and an end to everything: hops, bytes, seconds. Runs in the net host, which holds no keys and no log.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.net import allow
from thetis_kernel.net.addresses import Address, open_ones, resolve
from thetis_kernel.net.allow import Origin, Target
from thetis_kernel.protocol.net import Fetched, Wanted

DEFAULT_BYTES = 1024 * 1024
MAX_BYTES = 4 * 1024 * 1024
"""Of a body that comes back; a frame between processes holds 8 MiB."""
MAX_SENT = 1024 * 1024
DEFAULT_MS, MAX_MS = 20_000, 60_000
"""For everything together, redirects included."""
MAX_HOPS = 5
MAX_HEADERS, MAX_HEADER = 40, 8192
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
OURS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive",
    "accept-encoding", "proxy-authorization", "proxy-connection",
})
"""Headers that steer the connection, which is ours."""
PERSONAL = frozenset({"authorization", "cookie"})
"""Headers that stay with the origin they were meant for."""
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_CHUNK = 65536

Resolve = Callable[[str, int], list[Address]]
Judge = Callable[[str, list[Address]], list[Address]]


class Fetcher:
    """Carries out requests. `resolve` and `judge` are the system's resolver and the rule about addresses."""

    def __init__(self, resolve: Resolve = resolve, judge: Judge = open_ones, tls: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve
        self._judge = judge
        self._tls = tls or ssl.create_default_context()

    def fetch(self, wanted: Wanted, hosts: list[str]) -> Fetched:
        """The answer, also when it is an HTTP error. Raises Refused, NotAUrl, ThetisError (net-resolve, net-connect,
        net-timeout, net-protocol, bad-arguments)."""
        allowed = allow.listed(hosts)
        method, headers, body = _checked(wanted)
        target = allow.target(wanted.url)
        limit = min(wanted.max_bytes or DEFAULT_BYTES, MAX_BYTES)
        deadline = time.monotonic() + min(wanted.timeout_ms or DEFAULT_MS, MAX_MS) / 1000
        for _ in range(MAX_HOPS + 1):
            allow.check(target.origin, allowed)
            answer = self._hop(target, method, headers, body, limit, deadline)
            where = answer.headers.get("location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not where:
                return answer
            following = allow.target(urljoin(str(target), where))
            if answer.status == 303 or (answer.status in (301, 302) and method == "POST"):
                method, body = ("HEAD" if method == "HEAD" else "GET"), b""
            if following.origin != target.origin:
                headers = {name: value for name, value in headers.items() if name.lower() not in PERSONAL}
            target = following
        raise ThetisError(f"{wanted.url[:200]} was redirected more than {MAX_HOPS} times.", code="net-protocol")

    def _hop(self, target: Target, method: str, headers: dict[str, str], body: bytes, limit: int, deadline: float) -> Fetched:
        origin = target.origin
        addresses = self._judge(origin.host, self._resolve(origin.host, origin.port))
        try:
            with self._connected(origin, addresses, deadline) as connection, _ending(connection, _left(deadline, origin)):
                watched = _Watched(origin.host, origin.port)
                watched.sock = connection
                watched.request(method, target.path, body=body or None, headers={
                    **_plain(headers), "host": str(origin).partition("://")[2], "accept-encoding": "identity",
                    "connection": "close"})
                return _read(target, watched.getresponse(), limit, deadline)
        except ssl.SSLError as error:
            _left(deadline, origin)
            raise ThetisError(f"{origin} does not prove who it is: {_reason(error)}.", code="net-connect") from error
        except (http.client.HTTPException, OSError, ValueError, zlib.error) as error:
            _left(deadline, origin)  # a connection cut at the end of its time breaks in one of these ways
            raise ThetisError(f"{origin} answered something else than HTTP ({type(error).__name__}).",
                              code="net-protocol") from error

    def _connected(self, origin: Origin, addresses: list[Address], deadline: float) -> socket.socket:
        """A connection to the first of the judged addresses that answers; never a name, so nothing is looked up again."""
        trouble: OSError | None = None
        for address in addresses:
            family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
            plain = socket.socket(family, socket.SOCK_STREAM)
            try:
                plain.settimeout(_left(deadline, origin))
                plain.connect((str(address), origin.port))
                with _ending(plain, _left(deadline, origin)):
                    return self._tls.wrap_socket(plain, server_hostname=origin.host) if origin.scheme == "https" else plain
            except (ssl.SSLError, ThetisError):
                plain.close()
                raise
            except OSError as error:
                plain.close()
                trouble = error
        _left(deadline, origin)
        if isinstance(trouble, TimeoutError):
            raise _late(origin) from trouble
        raise ThetisError(f"{origin} cannot be reached: {getattr(trouble, 'strerror', None) or trouble}.", code="net-connect")


class _Watched(http.client.HTTPConnection):
    """A connection whose socket is given. It must never make one of its own: that would be an address nobody judged."""

    def connect(self) -> None:
        raise http.client.NotConnected


@contextlib.contextmanager
def _ending(connection: socket.socket, seconds: float) -> Iterator[None]:
    """Cut the connection after `seconds`, however busy it is: a timeout of a socket begins anew with every byte."""
    again = connection.dup() if type(connection) is socket.socket else socket.socket(fileno=os.dup(connection.fileno()))

    def cut() -> None:
        with contextlib.suppress(OSError):
            again.shutdown(socket.SHUT_RDWR)

    watch = threading.Timer(seconds, cut)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
        again.close()


def _read(target: Target, answer: http.client.HTTPResponse, limit: int, deadline: float) -> Fetched:
    coding = (answer.getheader("content-encoding") or "identity").strip().lower()
    inflate = zlib.decompressobj(47) if coding in ("gzip", "deflate") else None  # 47: a gzip or zlib header
    if inflate is None and coding not in ("identity", ""):
        raise ThetisError(f"{target.origin} sent a body coded as {coding[:40]!r}, unasked.", code="net-protocol")
    body = b""
    while len(body) <= limit and (piece := answer.read1(_CHUNK)):
        body += inflate.decompress(piece, limit + 1 - len(body)) if inflate else piece
    if len(body) <= limit:
        _left(deadline, target.origin)  # else the end may be ours, not the body's
        if answer.length:
            raise http.client.IncompleteRead(b"", answer.length)
    headers: dict[str, str] = {}
    for name, value in answer.getheaders():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return Fetched(status=answer.status, url=str(target), headers=headers, body=body[:limit], truncated=len(body) > limit)


def _plain(headers: dict[str, str]) -> dict[str, str]:
    return {"user-agent": "thetis", "accept": "*/*", **{name.lower(): value for name, value in headers.items()}}


def _checked(wanted: Wanted) -> tuple[str, dict[str, str], bytes]:
    method = wanted.method.upper()
    if method not in METHODS:
        raise allow.NotAUrl(f"The method {wanted.method[:20]!r} is not one of {', '.join(sorted(METHODS))}.")
    if len(wanted.headers) > MAX_HEADERS:
        raise allow.NotAUrl(f"A request holds at most {MAX_HEADERS} headers.")
    for name, value in wanted.headers.items():
        if not _TOKEN.fullmatch(name) or len(value) > MAX_HEADER or not value.isascii() or not value.isprintable():
            raise allow.NotAUrl(f"The header {name[:40]!r} is not plain text of at most {MAX_HEADER} characters.")
        if name.lower() in OURS:
            raise Refused(f"The header {name} is the host's own.", capability="http", hint="Leave it out.")
    body = wanted.body.encode("utf-8", "replace")
    if len(body) > MAX_SENT:
        raise allow.NotAUrl(f"The body has {len(body)} bytes, more than {MAX_SENT}.")
    if wanted.timeout_ms < 0 or wanted.max_bytes < 0:
        raise allow.NotAUrl("timeout_ms and max_bytes are not negative.")
    return method, dict(wanted.headers), body


def _left(deadline: float, origin: Origin) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise _late(origin)
    return left


def _late(origin: Origin) -> ThetisError:
    return ThetisError(f"{origin} did not answer in time.", code="net-timeout", hint="Try again later, or ask for less.")


def _reason(error: ssl.SSLError) -> str:
    return str(getattr(error, "verify_message", "") or error.reason or "TLS failed")
