"""The control socket: who gets in, and what lies around it."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from thetis_kernel.errors import IpcError, PeerGone, ProtocolError
from thetis_kernel.ipc import unix
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.framing import encode
from thetis_kernel.ipc.unix import Stranger, UnixServer, connect_unix, serve_unix, token_path
from thetis_kernel.protocol.wire import PROTOCOL, Hello

from tests.support.waiting import until
from tests.support.words import Add, Echo, LoopEnd


def accept(_: Stranger) -> AsyncPeer:
    end = LoopEnd()
    end.peer = AsyncPeer(role="gateway", other="a client", asks=end.asks(), tells=end.tells())
    return end.peer


def client() -> AsyncPeer:
    return AsyncPeer(role="client", other="the kernel")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "control"


async def test_a_client_of_ours_gets_in(path: Path) -> None:
    server = await serve_unix(path, accept)
    peer = client()
    hello = await connect_unix(path, peer)
    assert (hello.role, hello.pid, hello.token) == ("gateway", os.getpid(), "")
    assert await peer.call(Add(1, 2)) == 3
    server.close()
    assert isinstance(await peer.wait_closed(), PeerGone)
    assert not path.exists() and not token_path(path).exists()


async def test_directory_socket_and_token_are_closed_to_others(path: Path) -> None:
    before = os.umask(0)
    try:
        server = await serve_unix(path, accept)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(token_path(path).stat().st_mode) == 0o600
    server.close()


async def test_a_directory_open_to_others_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o755)
    path.parent.chmod(0o755)
    with pytest.raises(IpcError, match="not private") as caught:
        await serve_unix(path, accept)
    assert "chmod 700" in caught.value.hint


async def test_a_directory_that_is_a_symlink_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IpcError, match="not private"):
        await serve_unix(path, accept)


async def test_a_path_too_long_says_so(tmp_path: Path) -> None:
    long = tmp_path / ("d" * 100) / "control"
    with pytest.raises(IpcError, match="100") as caught:
        await serve_unix(long, accept)
    assert caught.value.code == "socket-path"


async def test_a_stale_socket_is_replaced_and_a_served_one_is_not(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    server = await serve_unix(path, accept)
    with pytest.raises(IpcError) as caught:
        await serve_unix(path, accept)
    assert caught.value.code == "socket-taken"
    peer = client()
    await connect_unix(path, peer)  # the one that was there is untouched
    peer.close()
    server.close()


async def test_a_file_in_the_way_is_never_removed(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_text("precious")
    with pytest.raises(IpcError, match="in the way"):
        await serve_unix(path, accept)
    assert path.read_text() == "precious"


async def test_closing_leaves_a_successors_socket_alone(path: Path) -> None:
    old = await serve_unix(path, accept)
    path.unlink()
    new = await serve_unix(path, accept)
    old.close()
    peer = client()
    await connect_unix(path, peer)
    peer.close()
    new.close()


async def test_nobody_there_says_so(path: Path) -> None:
    with pytest.raises(PeerGone, match="no kernel answers"):
        await connect_unix(path, client())
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(PeerGone, match="no kernel answers"):
        await connect_unix(path, client())


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
async def test_without_the_token_nothing_is_served(path: Path, token: str) -> None:
    """complaints 132: nobody is served without the token. A command an agent runs has our uid; it is kept from the token file,
    not from the socket."""
    server = await serve_unix(path, accept)
    token_path(path).write_text(token, encoding="utf-8")
    peer = client()
    with pytest.raises((PeerGone, ProtocolError, UnicodeDecodeError)):
        await connect_unix(path, peer)
        await peer.call(Echo(b"x"))
    await until(lambda: not server.peers)
    server.close()


async def test_a_client_that_says_nothing_is_closed_within_a_second(path: Path) -> None:
    server = await serve_unix(path, accept)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))
        await until(lambda: server.peers)
        assert await until(lambda: not server.peers, within=5) <= 1.5
    server.close()


async def test_only_so_many_clients(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix, "MAX_PEERS", 3)
    server = await serve_unix(path, accept)
    good = [client() for _ in range(3)]
    for peer in good:
        await connect_unix(path, peer)
    with pytest.raises(PeerGone):
        await connect_unix(path, client())
    assert server.refused == 1 and len(server.peers) == 3
    good[0].close()
    await until(lambda: len(server.peers) == 2)
    await connect_unix(path, client())
    server.close()


_AS_NOBODY = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(10)
sock.connect(sys.argv[1])
sock.sendall(bytes.fromhex(sys.argv[2]))
print(len(sock.recv(1000)))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
async def test_another_user_is_closed_before_a_word() -> None:
    """Even where the directories would let them in, and even with the token. Not under tmp_path, which is root's."""
    with tempfile.TemporaryDirectory() as top:
        path = Path(top) / "run" / "control"
        server = await serve_unix(path, accept)
        token = token_path(path).read_text()
        for opened in (Path(top), path.parent, path):
            opened.chmod(0o777)
        hello = encode(Hello(protocol=PROTOCOL, version="1", role="client", pid=1, token=token)).hex()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", _AS_NOBODY, str(path), hello, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await asyncio.wait_for(process.communicate(), 20)
        assert server.refused == 1, err
        assert out.strip() in (b"0", b"") and not server.peers
        server.close()


async def test_many_connections_cost_nothing(path: Path) -> None:
    """A small cousin of S8's 10,000: three hundred at once, none of which says a word."""
    server: UnixServer = await serve_unix(path, accept)
    socks = []
    for _ in range(300):
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        while sock.connect_ex(str(path)) != 0:
            await asyncio.sleep(0)
        socks.append(sock)
    await until(lambda: server.refused >= 300 - unix.MAX_PEERS)
    assert len(server.peers) <= unix.MAX_PEERS
    await until(lambda: not server.peers, within=5)
    for sock in socks:
        sock.close()
    peer = client()
    await connect_unix(path, peer)
    peer.close()
    server.close()
