"""The control socket: a unix socket for clients of the same user, and how to reach one.

Owns the directory, the socket file, its token and who may connect. It must not know what clients ask.

Three things stand between a stranger and the gateway: the directory is 0700, the peer's uid must be ours, and the
hello must carry the token in a 0600 file beside the socket. The token is for commands an agent runs: they have our
uid, and a wall that only keeps them from reading files would not keep them from connecting.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import secrets
import socket
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from thetis_kernel.errors import DeadlineExceeded, IpcError, PeerGone, ProtocolError
from thetis_kernel.ipc.aio import STRANGER, AsyncPeer, Limits
from thetis_kernel.protocol.wire import Hello

MAX_PATH = 100
"""Bytes a socket's path must stay under: sun_path holds 108 on Linux and 104 on macOS."""
MAX_PEERS = 64
"""Clients at once; one more is closed at once (reliability S8: 10,000 connections cost no memory)."""
_CONNECT_TRIES = 20
_CONNECT_PAUSE = 0.05
"""Seconds between tries while the server's backlog is full; with the tries, how long a client waits for a busy one."""
_ACCEPT_PAUSE = 0.2
"""Seconds without accepting after the process ran out of descriptors."""


class Stranger(msgspec.Struct, frozen=True):
    """Who connected, as the kernel tells it. `pid` is 0 where the system does not say."""

    uid: int
    pid: int


OnPeer = Callable[[Stranger], AsyncPeer]


class UnixServer:
    """A served control socket. `refused` counts connections closed before they were anything: a foreign uid, or one
    too many."""

    def __init__(self, path: Path, sock: socket.socket, token: str, on_peer: OnPeer, limits: Limits) -> None:
        self.path = path
        self.peers: set[AsyncPeer] = set()
        self.refused = 0
        self._sock = sock
        self._token = token
        self._on_peer = on_peer
        self._limits = limits
        self._identity = _identity(path)
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._attaching: set[asyncio.Task[None]] = set()
        self._listen()

    def close(self) -> None:
        """Stop listening, close every client, and remove the socket and its token if they are still ours."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._sock.fileno())
        self._sock.close()
        for peer in list(self.peers):
            peer.close()
        if _identity(self.path) == self._identity:
            self.path.unlink(missing_ok=True)
            token_path(self.path).unlink(missing_ok=True)

    def _listen(self) -> None:
        self._loop.add_reader(self._sock.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            connection, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:
            # No descriptors left: without a pause the loop would spin on a socket that stays readable.
            self._loop.remove_reader(self._sock.fileno())
            self._pause = self._loop.call_later(_ACCEPT_PAUSE, self._listen)
            return
        stranger = peer_of(connection)
        if stranger is None or stranger.uid != os.geteuid() or len(self.peers) >= MAX_PEERS:
            self.refused += 1
            connection.close()
            return
        peer = self._on_peer(stranger)
        self.peers.add(peer)
        peer.closed.add_done_callback(lambda _: self.peers.discard(peer))
        task = self._loop.create_task(self._attach(peer, connection))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _attach(self, peer: AsyncPeer, connection: socket.socket) -> None:
        try:
            await peer.attach(connection, limits=self._limits, admit=self._admit)
        except OSError as error:
            connection.close()
            peer.close(PeerGone(f"a client was gone before it was heard ({error})"))

    def _admit(self, hello: Hello) -> None:
        if not hmac.compare_digest(hello.token.encode(), self._token.encode()):
            raise ProtocolError("a client connected without the token of the control socket")


async def serve_unix(path: Path, on_peer: OnPeer, *, limits: Limits = STRANGER) -> UnixServer:
    """Serve a control socket at `path`. `on_peer` makes the peer for each client let in; it is attached afterwards.

    The directory is made 0700, or must be ours and closed to others. A socket file nobody answers at is replaced.
    Raises IpcError: `socket-path` (too long, or the directory is not safe), `socket-taken` (somebody answers).
    """
    _check_length(path)
    _private_directory(path.parent)
    await _remove_stale(path)
    token = secrets.token_hex(32)
    _write_token(token_path(path), token)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        path.chmod(0o600)
        sock.setblocking(False)
        sock.listen(64)
    except OSError as error:
        sock.close()
        raise IpcError(f"the control socket {path} could not be made: {error}", code="socket-path") from error
    return UnixServer(path, sock, token, on_peer, limits)


async def connect_unix(path: Path, peer: AsyncPeer, *, timeout: float = 5.0) -> Hello:
    """Attach `peer` to the kernel that serves `path`, and return its hello.

    Raises PeerGone when nobody answers there, ProtocolError when the server is another user's or of another version,
    DeadlineExceeded when it says nothing for `timeout` seconds.
    """
    sock = await _connect(path)
    if sock is None:
        raise PeerGone(f"no kernel answers at {path}")
    server = peer_of(sock)
    if server is None or server.uid != os.geteuid():
        sock.close()
        raise ProtocolError(f"the control socket {path} is served by another user")
    try:
        token = token_path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        sock.close()
        raise PeerGone(f"the token of the control socket {path} cannot be read: {error}") from error
    await peer.attach(sock, token=token)
    try:
        async with asyncio.timeout(timeout):
            return await peer.greeted()
    except TimeoutError:
        peer.close()
        raise DeadlineExceeded(f"the kernel at {path} did not say hello within {timeout:g} s") from None


def token_path(path: Path) -> Path:
    """Where the token of the control socket `path` lies."""
    return path.with_name(path.name + ".token")


def peer_of(connection: socket.socket) -> Stranger | None:
    """Who is at the other end of a connected unix socket, by the operating system's word; None when it will not say."""
    try:
        if sys.platform == "linux":
            pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return Stranger(uid=uid, pid=pid)
        else:
            # struct xucred of macOS and the BSDs: u_int version, uid_t uid, ...; SOL_LOCAL is 0, LOCAL_PEERCRED 1
            _, uid = struct.unpack_from("Ii", connection.getsockopt(0, 1, 76))
            return Stranger(uid=uid, pid=0)
    except OSError:
        return None


def owner_of(path: Path) -> int:
    """The process that serves the control socket at `path`, by the operating system's word; 0 when nobody of ours does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(1.0)
        try:
            sock.connect(str(path))
        except OSError:
            return 0
        server = peer_of(sock)
    return server.pid if server is not None and server.uid == os.geteuid() else 0


def _check_length(path: Path) -> None:
    length = len(os.fsencode(path))
    if length >= MAX_PATH:
        raise IpcError(
            f"the control socket's path is {length} bytes long, and must be under {MAX_PATH}: {path}",
            code="socket-path",
            hint="Point [paths] at a shorter directory.",
        )


def _private_directory(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise IpcError(
            f"the directory of the control socket is not private: {directory}",
            code="socket-path",
            hint=f"It must be yours and closed to others: chmod 700 {directory}",
        )


async def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise IpcError(f"{path} is in the way of the control socket and is no socket", code="socket-path")
    answering = await _connect(path)
    if answering is not None:
        answering.close()
        raise IpcError(f"another kernel answers at {path}", code="socket-taken")
    path.unlink(missing_ok=True)


async def _connect(path: Path) -> socket.socket | None:
    """A connected socket, or None when nobody listens at `path`.

    Not the loop's `sock_connect`: for unix sockets EAGAIN means a full backlog, not a connection under way.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    for _ in range(_CONNECT_TRIES):
        problem = sock.connect_ex(str(path))
        if problem == 0:
            return sock
        if problem != errno.EAGAIN:
            break
        await asyncio.sleep(_CONNECT_PAUSE)
    sock.close()
    if problem in (errno.ENOENT, errno.ECONNREFUSED):
        return None
    raise IpcError(f"the control socket {path} cannot be reached: {os.strerror(problem)}", code="socket-path")


def _write_token(path: Path, token: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(token)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
