"""Getting to a gateway: opened in this process, or attached to the kernel that already holds the root."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import Loaded, load
from thetis_kernel.errors import PeerGone, StoreLocked, UsageError
from thetis_kernel.gateway.trust import root_is_trusted
from thetis_kernel.paths import RootPaths, root_paths, user_config_file
from thetis_kernel.roots import find_root

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

ATTACH_SECONDS = 5.0
"""How long to wait for a kernel that holds the lock but does not answer yet (it may be starting)."""


def locate(arguments: argparse.Namespace) -> tuple[RootPaths, Loaded]:
    """The root this command is about, and its configuration (with --safe, as if it were not trusted). Raises RootError and
    ConfigError."""
    root = find_root(Path(getattr(arguments, "root", None) or Path.cwd()))
    local = not getattr(arguments, "no_local", False)
    trusted = not getattr(arguments, "safe", False) and root_is_trusted(root)
    loaded = load(root, user_config_file(), local=local, trusted=trusted)
    return root_paths(root), loaded


class Reached:
    """A client, and the gateway behind it when it lives in this process."""

    def __init__(self, client: GatewayClient, gateway: Gateway | None) -> None:
        self.client = client
        self.gateway = gateway

    async def close(self) -> None:
        """Leave: closes the gateway when it is ours."""
        if self.gateway is not None:
            await self.gateway.close()


async def reach(paths: RootPaths, loaded: Loaded, *, unwalled: bool = False, can_ask: bool = False,
                warm: bool = True, safe: bool = False) -> Reached:
    """Open the root, or attach to whoever has it open. Raises StoreLocked when that kernel does not answer.

    `safe`: with the shipped guests alone; raises UsageError when a kernel that serves others has the root.
    """
    from thetis_kernel.gateway.gateway import Gateway

    deadline = asyncio.get_running_loop().time() + ATTACH_SECONDS
    while True:
        try:
            gateway = await Gateway.open(paths, loaded, unwalled=unwalled, can_ask=can_ask, warm=warm, safe=safe)
            return Reached(await gateway.connect(), gateway)
        except StoreLocked as locked:
            try:
                client = await _attach(paths.socket)
                if safe and not (await client.status(walls=False)).safe:
                    raise UsageError("Another Thetis has this root open and serves what was changed.",
                                     hint="End that one first: --safe counts for the kernel that is started with it.")
                return Reached(client, None)
            except PeerGone:
                if asyncio.get_running_loop().time() > deadline:
                    raise locked from None
                await asyncio.sleep(0.1)


async def _attach(socket: Path) -> GatewayClient:
    from thetis_kernel.ipc.aio import AsyncPeer
    from thetis_kernel.ipc.unix import connect_unix
    from thetis_kernel.protocol.client import CLIENT_TELLS

    client: list[GatewayClient] = []
    peer = AsyncPeer(role="client", other="the gateway",
                     tells={kind: lambda tell: client[0].heard(tell) for kind in CLIENT_TELLS})
    client.append(GatewayClient(peer))
    await connect_unix(socket, peer)
    return client[0]


@asynccontextmanager
async def reached(paths: RootPaths, loaded: Loaded, *, warm: bool = True) -> AsyncIterator[GatewayClient]:
    """`reach` for a command that only looks; closed at the end."""
    found = await reach(paths, loaded, warm=warm)
    try:
        yield found.client
    finally:
        await found.close()
