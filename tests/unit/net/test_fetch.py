"""One request: every hop judged, connected to the judged address, and an end to bytes, hops and seconds."""

from __future__ import annotations

import gzip
import ipaddress
import os
import socket
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.net.addresses import Address, open_ones
from thetis_kernel.net.allow import NotAUrl
from thetis_kernel.net.fetch import MAX_HOPS, Fetcher
from thetis_kernel.protocol.net import Fetched, Wanted

from tests.support.raw_server import RawServer, raw_server, reply

LOOPBACK = ipaddress.ip_address("127.0.0.1")


class Names:
    """A resolver for tests: every name is loopback; `asked` counts. The judge lets loopback pass, and nothing else inside."""

    def __init__(self, *answers: list[Address]) -> None:
        self.asked: list[str] = []
        self.answers = list(answers)

    def resolve(self, host: str, port: int) -> list[Address]:
        self.asked.append(host)
        return self.answers.pop(0) if self.answers else [LOOPBACK]

    def judge(self, host: str, found: list[Address]) -> list[Address]:
        return found if found == [LOOPBACK] else open_ones(host, found)


def get(server: RawServer, path: str = "/", names: Names | None = None, hosts: list[str] | None = None, **more: Any) -> Fetched:
    names = names or Names()
    allowed = hosts if hosts is not None else [f"http://a.test:{server.port}"]
    wanted = Wanted(url=f"http://a.test:{server.port}{path}", **more)
    return Fetcher(names.resolve, names.judge).fetch(wanted, allowed)


def test_an_answer_comes_back() -> None:
    with raw_server({"/x": reply(body=b"hello", Content_Type="text/plain", X_Two="1")}) as server:
        found = get(server, "/x?a=b", method="POST", headers={"X-Own": "v", "User-Agent": "mine"}, body="sent")
    assert (found.status, found.body, found.headers["content-type"], found.truncated) == (200, b"hello", "text/plain", False)
    head = server.requests[0]
    assert head.startswith("POST /x?a=b HTTP/1.1\r\n") and head.endswith("\r\n\r\nsent")
    assert head.lower().count("user-agent") == 1 and f"host: a.test:{server.port}" in head.lower()
    assert "accept-encoding: identity" in head.lower()


def test_an_http_error_is_an_answer() -> None:
    with raw_server({}) as server:
        assert get(server).status == 404


def test_off_the_list_nothing_is_even_looked_up() -> None:
    names = Names()
    with raw_server({}) as server:
        for hosts in ([], ["http://b.test"], [f"http://a.test:{server.port + 1}"]):
            with pytest.raises(Refused, match="not on this tool's list"):
                get(server, names=names, hosts=hosts)
    assert names.asked == [] and server.requests == []


def test_a_redirect_off_the_list_is_not_followed() -> None:
    with raw_server({}) as server:
        server.answers["/"] = reply("302 Found", Location=f"http://b.test:{server.port}/secret")
        server.answers["/secret"] = reply(body=b"secret")
        with pytest.raises(Refused, match=r"b\.test"):
            get(server)
    assert len(server.requests) == 1


@pytest.mark.parametrize("where", [
    "file:///etc/passwd", "https://a.test/", "//b.test/", "http://u:p@a.test/", "http://a.test:1/", "x:y",
])
def test_nor_one_to_something_else(where: str) -> None:
    with raw_server({"/": reply("301 Moved", Location=where)}) as server, pytest.raises(ThetisError):
        get(server)
    assert len(server.requests) == 1


def test_every_hop_is_resolved_and_judged_anew() -> None:
    """DNS rebinding: the name on the list leads inside at the second look."""
    names = Names([LOOPBACK], [ipaddress.ip_address("169.254.169.254")])
    answers = {"/": reply("302 Found", Location="/again"), "/again": reply(body=b"inside")}
    with raw_server(answers) as server, pytest.raises(Refused, match=r"169\.254\.169\.254"):
        get(server, names=names)
    assert names.asked == ["a.test", "a.test"] and len(server.requests) == 1


def test_the_judged_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second look-up between check and connect: the system resolver is never asked at all."""
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("looked up a second time")

    monkeypatch.setattr(socket, "getaddrinfo", never)
    monkeypatch.setattr(socket, "create_connection", never)
    with raw_server({"/": reply()}) as server:
        assert get(server).body == b"ok"


@pytest.mark.parametrize("address", ["10.1.2.3", "::1", "169.254.169.254", "::ffff:127.0.0.1"])
def test_inside_is_refused_before_connecting(address: str) -> None:
    with raw_server({"/": reply()}) as server, pytest.raises(Refused, match="not out in the open"):
        get(server, names=Names([ipaddress.ip_address(address)]))
    assert server.requests == []


def test_credentials_stay_with_their_origin() -> None:
    with raw_server({"/end": reply()}) as server:
        server.answers["/"] = reply("307 Temporary", Location=f"http://b.test:{server.port}/end")
        get(server, hosts=[f"http://a.test:{server.port}", f"http://b.test:{server.port}"],
            headers={"Authorization": "Bearer x", "Cookie": "c=1", "X-Plain": "y"})
    first, second = (request.lower() for request in server.requests)
    assert "bearer x" in first and "c=1" in first
    assert "bearer" not in second and "cookie" not in second and "x-plain: y" in second


@pytest.mark.parametrize(("status", "method", "then", "body"), [
    ("303 See Other", "POST", "GET", ""), ("302 Found", "POST", "GET", ""), ("307 T", "POST", "POST", "sent"),
    ("303 See Other", "HEAD", "HEAD", ""), ("301 Moved", "PUT", "PUT", "sent"),
])
def test_methods_after_a_redirect(status: str, method: str, then: str, body: str) -> None:
    with raw_server({"/": reply(status, b"", Location="/end"), "/end": reply(body=b"")}) as server:
        get(server, method=method, body="sent" if method != "HEAD" else "")
    assert server.requests[1].startswith(f"{then} /end ") and server.requests[1].endswith("\r\n\r\n" + body)


def test_redirects_end() -> None:
    with raw_server({"/": reply("302 Found", Location="/")}) as server, pytest.raises(ThetisError, match="more than"):
        get(server)
    assert len(server.requests) == MAX_HOPS + 1


@pytest.mark.parametrize("wanted", [
    {"headers": {"Host": "evil"}}, {"headers": {"Content-Length": "5"}}, {"headers": {"Proxy-Authorization": "x"}},
    {"headers": {"X-A": "a\r\nX-B: b"}}, {"headers": {"X A": "b"}}, {"headers": {"": "b"}}, {"headers": {"X-A": "\u00e9"}},
    {"method": "CONNECT"}, {"method": "GET / HTTP/1.1\r\nX:"}, {"body": "x" * 1_100_000}, {"timeout_ms": -1},
    {"headers": {f"X-{n}": "v" for n in range(60)}},
])
def test_a_request_cannot_steer_the_connection(wanted: dict[str, Any]) -> None:
    with raw_server({"/": reply()}) as server, pytest.raises((Refused, NotAUrl)):
        get(server, **wanted)
    assert server.requests == []


def flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def test_a_body_without_end_is_cut() -> None:
    with raw_server({"/": flood}) as server:
        found = get(server, max_bytes=100_000)
    assert len(found.body) == 100_000 and found.truncated


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_bomb_is_cut(pack: Callable[[bytes], bytes]) -> None:
    coding = "gzip" if pack is gzip.compress else "deflate"
    with raw_server({"/": reply(body=pack(b"\0" * 5_000_000), Content_Encoding=coding),
                     "/small": reply(body=pack(b"hello"), Content_Encoding=coding)}) as server:
        found = get(server, max_bytes=10_000)
        assert len(found.body) == 10_000 and found.truncated
        assert get(server, "/small").body == b"hello"


finished: list[bytes] = []
"""What dripped to its own end instead of the request's."""


def drip(piece: bytes, first: bytes = b"HTTP/1.1 200 OK\r\n") -> Callable[[socket.socket], None]:
    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        pause = threading.Event()
        for _ in range(150):  # three seconds, ten times what the request has
            pause.wait(0.02)
            connection.sendall(piece)
        finished.append(piece)

    return send


@pytest.mark.parametrize("answer", [
    drip(b"X"), drip(b"X-A: b\r\n"), drip(b"x", b"HTTP/1.1 200 OK\r\n\r\n"), drip(b"HTTP/1.1 100 Continue\r\n\r\n", b""),
    drip(b"1\r\nx\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), lambda c: threading.Event().wait(5),
])
def test_a_slow_answer_ends_in_time(answer: Callable[[socket.socket], None]) -> None:
    """Each byte begins a socket's timeout anew; the whole still has one end."""
    with raw_server({"/": answer}) as server, pytest.raises(ThetisError) as caught:
        get(server, timeout_ms=300)
    assert caught.value.code in ("net-timeout", "net-protocol")  # too many headers may come first
    assert finished == []


@pytest.mark.parametrize("answer", [
    b"", b"nonsense\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", reply(Content_Encoding="br"),
    reply(body=b"not gzip", Content_Encoding="gzip"), b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
])
def test_what_is_not_http_is_an_error_of_the_tree(answer: bytes) -> None:
    with raw_server({"/": answer}) as server, pytest.raises(ThetisError) as caught:
        get(server)
    assert caught.value.code == "net-protocol"


def test_nobody_there() -> None:
    with raw_server({}) as server:
        pass
    with pytest.raises(ThetisError) as caught:
        get(server)
    assert caught.value.code == "net-connect"


@pytest.mark.parametrize(("answer", "code"), [
    (lambda c: c.sendall(b"HTTP/1.1 200 OK\r\n\r\n"), "net-connect"), (drip(b"\0", b"\x16\x03\x03\x3f\xff"), "net-timeout"),
])
def test_a_server_that_cannot_prove_who_it_is(answer: Callable[[socket.socket], None], code: str) -> None:
    with raw_server({"/": answer}, speaks_first=True) as server, pytest.raises(ThetisError) as caught:
        wanted = Wanted(url=f"https://a.test:{server.port}/", timeout_ms=300 if code == "net-timeout" else 0)
        Fetcher(Names().resolve, Names().judge).fetch(wanted, [f"a.test:{server.port}"])
    assert caught.value.code == code


def test_the_environment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with raw_server({"/": reply()}) as server:
        assert get(server).status == 200
    assert "proxy" not in server.requests[0].lower()


def test_no_connection_is_left() -> None:
    with raw_server({"/": reply(), "/go": reply("302 F", Location="/")}) as server:
        get(server, "/go")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            get(server, "/go")
            with pytest.raises(ThetisError):
                get(server, hosts=[])
        assert len(os.listdir("/proc/self/fd")) <= before + 2
