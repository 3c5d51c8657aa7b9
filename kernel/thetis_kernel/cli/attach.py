"""Attaching to the kernel that holds a root: the whole way of a client that finds one. Imports as little as that needs.

Must not know how a gateway is opened.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import DeadlineExceeded, PeerGone, ProtocolError, UsageError
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.unix import connect_unix
from thetis_kernel.paths import RootPaths, root_paths
from thetis_kernel.protocol.client import CLIENT_TELLS
from thetis_kernel.roots import find_root

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

DAEMON = "daemon"
"""The role a daemon's hello names; every other gateway says `gateway`."""
BACK_SECONDS = 8.0
"""How long a client whose daemon went away waits for it to be started again, before it takes the root itself."""
_PAUSE = 0.1
SAFE_ELSEWHERE = "Another Thetis has this root open and serves what was changed."


class Reached:
    """A client, and the gateway behind it when it lives in this process. `daemon`: a daemon is at the other end."""

    def __init__(self, client: GatewayClient, gateway: Gateway | None, *, daemon: bool = False) -> None:
        self.client = client
        self.gateway = gateway
        self.daemon = daemon

    async def close(self) -> None:
        """Leave: closes the gateway when it is ours."""
        if self.gateway is not None:
            await self.gateway.close()


def place(arguments: argparse.Namespace) -> RootPaths:
    """The root this command is about. Raises RootError."""
    return root_paths(find_root(Path(getattr(arguments, "root", None) or Path.cwd())))


async def attach(paths: RootPaths, *, safe: bool = False) -> Reached:
    """Attach to whoever has the root open. Raises PeerGone when nobody answers, ProtocolError for another version,
    UsageError when `safe` is wanted and it serves others than the shipped guests."""
    problem: PeerGone | None = None
    for socket in places(paths):
        client, peer = client_and_peer()
        try:
            hello = await connect_unix(socket, peer)
        except PeerGone as gone:
            why = peer.closed.result() if peer.closed.done() else gone
            if isinstance(why, ProtocolError):
                raise _another_version(why) from gone
            problem = gone
            continue
        if safe and not (await client.status(walls=False)).safe:
            raise UsageError(SAFE_ELSEWHERE, hint="End that one first: --safe counts for the kernel that is started with it.")
        return Reached(client, None, daemon=hello.role == DAEMON)
    raise problem or PeerGone("no kernel has this root open")


def client_and_peer() -> tuple[GatewayClient, AsyncPeer]:
    """A client and its end of a channel that is not connected yet."""
    client: list[GatewayClient] = []
    peer = AsyncPeer(role="client", other="the gateway",
                     tells={kind: lambda tell: client[0].heard(tell) for kind in CLIENT_TELLS})
    client.append(GatewayClient(peer))
    return client[0], peer


async def attach_again(paths: RootPaths, *, safe: bool = False) -> Reached:
    """The same for a client whose daemon went away: it may be on its way back. Raises PeerGone after BACK_SECONDS."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + BACK_SECONDS
    while True:
        try:
            return await attach(paths, safe=safe)
        except (PeerGone, DeadlineExceeded):
            if loop.time() >= deadline:
                raise
            await asyncio.sleep(_PAUSE)


def places(paths: RootPaths) -> list[Path]:
    """Where the control socket may be: here, and where a kernel with another runtime directory said that it is."""
    found = [paths.socket] if paths.socket.exists() else []
    try:
        noted = Path(paths.socket_note.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return found
    # Its name is the root's: the note in a copy of a state directory names another root's socket.
    return [*found, noted] if noted not in found and noted.is_absolute() and noted.name == paths.socket.name else found


def _another_version(error: ProtocolError) -> ProtocolError:
    if "theirs" not in error.data:
        return error
    return ProtocolError(
        f"The Thetis that has this root open is another version ({error.message}).",
        hint="End it with the version that started it, or with `thetis daemon restart` when it is a daemon.", **error.data)
