"""Getting to a gateway: opened in this process, or attached to the kernel that already holds the root."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from thetis_kernel.cli.attach import Reached, attach
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import Loaded, load
from thetis_kernel.errors import PeerGone, StoreLocked
from thetis_kernel.gateway.placing import placed
from thetis_kernel.gateway.runtimes import Runtimes
from thetis_kernel.gateway.trust import root_is_trusted
from thetis_kernel.paths import RootPaths, root_paths, user_config_file
from thetis_kernel.protocol.client import Holder
from thetis_kernel.roots import find_root

ATTACH_SECONDS = 5.0
"""How long to wait for a kernel that holds the lock but does not answer yet (it may be starting)."""


def locate(arguments: argparse.Namespace) -> tuple[RootPaths, Loaded]:
    """The root this command is about, and its configuration (with --safe, as if it were not trusted). Raises RootError and
    ConfigError."""
    root = find_root(Path(getattr(arguments, "root", None) or Path.cwd()))
    local = not getattr(arguments, "no_local", False)
    trusted = not getattr(arguments, "safe", False) and root_is_trusted(root)
    loaded = load(root, user_config_file(), local=local, trusted=trusted)
    return placed(root_paths(root), loaded.settings.paths), loaded


async def reach(paths: RootPaths, loaded: Loaded, *, unwalled: bool = False, can_ask: bool = False, warm: bool = True,
                safe: bool = False, holder: Holder = "run", turn: bool = False) -> Reached:
    """Attach to whoever has the root open, or open it. Raises StoreLocked when a kernel has it and does not answer.

    `safe`: with the shipped guests alone; raises UsageError when a kernel that serves others has the root. `turn`: one follows at
    once, so what its worker needs is made ready while this process loads the gateway.
    """
    deadline = asyncio.get_running_loop().time() + ATTACH_SECONDS
    runtimes: Runtimes | None = None
    try:
        while True:
            with contextlib.suppress(PeerGone):
                return await attach(paths, safe=safe)
            if runtimes is None and turn:
                runtimes = Runtimes()
                runtimes.begin("agent", "tool")
            from thetis_kernel.gateway.gateway import Gateway

            try:
                gateway = await Gateway.open(paths, loaded, unwalled=unwalled, can_ask=can_ask, warm=warm, safe=safe,
                                             holder=holder, runtimes=runtimes)
                runtimes = None
                return Reached(await gateway.connect(), gateway)
            except StoreLocked:
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(0.1)
    finally:
        if runtimes is not None:
            runtimes.close()


@asynccontextmanager
async def reached(paths: RootPaths, loaded: Loaded, *, warm: bool = True) -> AsyncIterator[GatewayClient]:
    """`reach` for a command that only looks; closed at the end."""
    found = await reach(paths, loaded, warm=warm)
    try:
        yield found.client
    finally:
        await found.close()
