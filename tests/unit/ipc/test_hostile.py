"""What a stranger can do to an `AsyncPeer`: nothing but be closed within a second (reliability S8)."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct
import time
from collections.abc import AsyncIterator

import msgspec
import pytest
from thetis_kernel.errors import IpcError, PeerGone, ProtocolError
from thetis_kernel.ipc.aio import STRANGER, AsyncPeer, Limits
from thetis_kernel.ipc.framing import FrameReader, encode
from thetis_kernel.ipc.vocabulary import encode_body
from thetis_kernel.protocol.wire import MAX_FRAME, PROTOCOL, Envelope, Failure, Hello, Reply, Request, Withdraw

from tests.support.waiting import until
from tests.support.words import Echo, Fail, Hold, LoopEnd, Note

HELLO = bytes(encode(Hello(protocol=PROTOCOL, version="1", role="stranger", pid=1)))


class Stranger:
    """A raw socket against a peer that serves `LoopEnd`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.end = LoopEnd()
        self.sock, self._theirs = socket.socketpair()
        self.sock.setblocking(False)
        self._reader = FrameReader()

    async def open(self) -> None:
        self.end.peer = AsyncPeer(role="gateway", other="a stranger", asks=self.end.asks(), tells=self.end.tells())
        await self.end.peer.attach(self._theirs, limits=self.limits)

    @property
    def peer(self) -> AsyncPeer:
        return self.end.peer

    async def send(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def ask(self, number: int, ask: object) -> None:
        await self.send(bytes(encode(Request(number, encode_body(ask, "it")))))

    async def hear(self) -> list[Envelope]:
        data = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.sock, 1 << 20), 10)
        return list(self._reader.feed(data))

    async def closed(self) -> tuple[IpcError, float]:
        """Why it was closed, and after how many seconds from now."""
        started = time.monotonic()
        reason = await asyncio.wait_for(self.peer.wait_closed(), 10)
        return reason, time.monotonic() - started


@pytest.fixture
async def stranger() -> AsyncIterator[Stranger]:
    made = Stranger(STRANGER)
    await made.open()
    yield made
    made.peer.close()
    made.sock.close()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack(">I", 2**32 - 1) + b"x" * 1000,
        struct.pack(">I", 0),
        struct.pack(">I", 5) + b"\xc1" * 5,
        bytes(encode(Hello(protocol=PROTOCOL + 1, version="1", role="r", pid=1))),
        bytes(encode(Request(1, encode_body(Echo(b"x"), "it")))),
        HELLO + struct.pack(">I", MAX_FRAME + 1),
        HELLO + HELLO,
        HELLO + bytes(encode(Reply(1, msgspec.Raw(b"\x01")))),
        HELLO + bytes(encode(Request(1, encode_body(Hold(), "it")))) * 2,
        HELLO + b"\x91" * 300_000,
    ],
    ids=["http", "4GiB", "empty", "noise", "version", "no-hello", "too-long", "hello-twice", "reply", "replay", "nested"],
)
async def test_what_does_not_fit_is_closed_at_once(stranger: Stranger, data: bytes) -> None:
    await stranger.send(data)
    reason, after = await stranger.closed()
    assert isinstance(reason, ProtocolError)
    assert after <= 1.0


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00\x20abc", HELLO + b"\x00\x10", HELLO + b"\x00\x00\x10\x00ab"])
async def test_half_a_message_and_silence_is_closed_within_a_second(stranger: Stranger, data: bytes) -> None:
    await stranger.send(data)
    reason, after = await stranger.closed()
    assert isinstance(reason, ProtocolError)
    assert after <= STRANGER.stall + 0.5  # type: ignore[operator]


async def test_a_slow_sender_is_not_cut(stranger: Stranger) -> None:
    """Silence is measured from the last byte: a message may take longer than the limit altogether."""
    stranger.peer.close()
    slow = Stranger(Limits(stall=0.2, hello=0.2))
    await slow.open()
    await slow.send(HELLO)
    frame = bytes(encode(Request(1, encode_body(Echo(b"y" * 40), "it"))))
    for byte in frame:
        await slow.send(bytes([byte]))
        await asyncio.sleep(0.01)
    assert not slow.peer.closed.done()
    got: list[Envelope] = []
    while not any(isinstance(envelope, Reply) for envelope in got):
        got += await slow.hear()
    slow.peer.close()


async def test_an_idle_stranger_that_said_hello_stays(stranger: Stranger) -> None:
    stranger.peer.close()
    quiet = Stranger(Limits(stall=0.02, hello=0.02))
    await quiet.open()
    await quiet.send(HELLO)
    await quiet.peer.greeted()
    await asyncio.sleep(0.1)
    assert not quiet.peer.closed.done()
    quiet.peer.close()


async def test_one_who_does_not_read_is_cut_and_memory_stays_bounded() -> None:
    made = Stranger(Limits(unread=2 * 1024 * 1024, congested=256 * 1024))
    await made.open()
    await made.send(HELLO)
    await made.peer.greeted()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(1, 200):
        await made.ask(number, Echo(b"z" * 500_000))
        if made.peer.closed.done():
            break
    reason, _ = await made.closed()
    assert reason.code == "peer-slow"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024  # KiB


async def test_congestion_shows_and_ends() -> None:
    made = Stranger(Limits(congested=64 * 1024))
    await made.open()
    await made.send(HELLO)
    await made.peer.greeted()
    assert not made.peer.congested
    await made.peer.drained()
    while not made.peer.congested:
        for n in range(1000):
            made.peer.tell(Note(n))
    draining = asyncio.create_task(made.peer.drained())
    await asyncio.sleep(0)
    assert not draining.done()
    while not draining.done():
        await made.hear()
    assert not made.peer.congested
    made.peer.close()


async def test_a_flood_of_requests_is_bounded(stranger: Stranger) -> None:
    await stranger.send(HELLO)
    for number in range(1, 1001):
        await stranger.ask(number, Hold())
    refused = 0
    while refused < 1000 - STRANGER.open_requests:
        refused += sum(isinstance(e, Failure) and e.code == "overloaded" for e in await stranger.hear())
    assert stranger.peer.serving == STRANGER.open_requests
    # Taken back, they make room; also those taken back before they began.
    await stranger.send(b"".join(bytes(encode(Withdraw(n))) for n in range(1, 1001)))
    await until(lambda: stranger.peer.serving == 0)
    await stranger.ask(2000, Hold())
    await stranger.send(bytes(encode(Withdraw(2000))))
    await stranger.ask(2001, Fail("well"))
    got: list[Envelope] = []
    while not got:
        got += [e for e in await stranger.hear() if isinstance(e, Reply)]
    assert got[0].id == 2001


async def test_all_requests_end_with_the_channel(stranger: Stranger) -> None:
    await stranger.send(HELLO)
    for number in range(1, 11):
        await stranger.ask(number, Hold())
    await until(lambda: stranger.peer.serving == 10)
    await asyncio.sleep(0)
    stranger.sock.close()
    reason, _ = await stranger.closed()
    assert isinstance(reason, PeerGone)
    await until(lambda: stranger.end.withdrawals == 10)


async def test_one_strangers_requests_touch_no_other(stranger: Stranger) -> None:
    """Numbers are per channel: withdrawing, answering or replaying cannot reach another's requests."""
    other = Stranger(STRANGER)
    await other.open()
    await other.send(HELLO)
    await other.ask(1, Hold())
    await until(lambda: other.peer.serving == 1)
    await stranger.send(HELLO + bytes(encode(Withdraw(1))) + bytes(encode(Reply(1, msgspec.Raw(b"\x01")))))
    await stranger.closed()
    assert other.peer.serving == 1 and other.end.withdrawals == 0
    assert not other.peer.closed.done()
    other.peer.close()
