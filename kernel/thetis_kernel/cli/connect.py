"""`thetis connect discord`: the read-only door in Discord, in a process of its own beside the kernel that holds the root.

Must not know what the connector does; here its token is read and its end is told.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import logging
import os
import signal
import sys
from typing import Any

from thetis_kernel.cli.attach import attach
from thetis_kernel.cli.printing import say
from thetis_kernel.cli.reach import locate
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.discord import Discord
from thetis_kernel.errors import PeerGone, StoreLocked, ThetisError, UsageError
from thetis_kernel.gateway.wiping import take
from thetis_kernel.models.keys import secret_at
from thetis_kernel.paths import RootPaths
from thetis_kernel.store.lock import RootLock

INSTALL = "pip install 'thetis-tui[discord]'"
WITHOUT = "The bot of Discord has no token"


def connect(arguments: argparse.Namespace) -> int:
    """Hold the line until interrupted; 0 then. Raises UsageError for what has to be set up first."""
    paths, loaded = locate(arguments)
    settings = loaded.settings.discord
    try:
        importlib.import_module("discord")
    except ImportError as error:
        raise UsageError("The library for Discord is not installed.", hint=f"Install it beside Thetis: {INSTALL}") from error
    if not (settings.allowed_users or settings.admin_users or settings.allow_all_users):
        raise UsageError("Nobody may talk to the agent over Discord yet.",
                         hint="Put your numeric id into discord.admin_users of your own configuration: `thetis config path`.")
    token = token_of(settings)
    directory = paths.base / "discord"
    paths.base.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.mkdir(exist_ok=True, mode=0o700)
    try:
        lock = RootLock.acquire(directory)
    except StoreLocked as error:
        raise UsageError("This root has a line to Discord already.", hint=f"End that one first (process {error.pid}).") from error
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s", force=True)
    logging.getLogger("discord").setLevel(logging.ERROR)  # its warnings repeat ours, its debug output holds what is said
    try:
        return asyncio.run(_hold(paths, settings, token))
    finally:
        lock.release()


def token_of(settings: Discord) -> str:
    """The bot's token, taken out of this process's environment when it is there. Raises ModelError, like a model's key."""
    kind, _, where = settings.token.partition(":")
    return secret_at(settings.token, take(os.environ, where) if kind == "env" else "", WITHOUT)


async def _hold(paths: RootPaths, settings: Discord, token: str) -> int:
    from thetis_kernel.connectors.discord.line import Line, Missed
    from thetis_kernel.connectors.discord.memory import Memory
    from thetis_kernel.connectors.discord.service import Connector

    async def gateway() -> GatewayClient:
        return (await attach(paths)).client

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    connector = Connector(settings, gateway, Memory(paths.base / "discord" / "memory.json"))
    try:
        await connector.open()
    except PeerGone as error:
        raise UsageError("No Thetis has this root open.",
                         hint="Start one first: `thetis daemon start`, or the screen.") from error
    line = Line(token, connector.admission.judge, connector.hear_from_there, lambda: Missed(*connector.missed()),
                connector.passed_there)
    line.start()
    connector.begin(line)
    say(f"Discord is opened to this root in mode {settings.mode}, read-only. Ctrl-C ends it.")
    problem: ThetisError | None = None

    def over(ended: asyncio.Future[Any]) -> None:
        nonlocal problem
        problem = problem or ended.result()
        stop.set()

    asyncio.wrap_future(line.ended).add_done_callback(over)
    connector.ended.add_done_callback(over)
    await stop.wait()
    with contextlib.suppress(ThetisError):
        await connector.close()
        await line.close()
    if problem is not None:
        raise problem
    return 0
