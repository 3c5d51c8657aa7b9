"""A connector with the real library on a fake Discord and a real gateway, in this process; and as a program of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import discord.gateway
import discord.http
import pytest
import yarl
from thetis_kernel.cli.attach import attach
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.discord import Discord as Settings
from thetis_kernel.connectors.discord.line import Line, Missed
from thetis_kernel.connectors.discord.memory import Memory
from thetis_kernel.connectors.discord.service import Connector

from tests.support.discord_server import TOKEN, Discord
from tests.support.gateways import Opened, gateway

ADMIN, FRIEND, STRANGER = 1, 2, 66


class Bot:
    """A running connector, its line, and what is at both ends."""

    def __init__(self, opened: Opened, server: Discord, connector: Connector, line: Line) -> None:
        self.gateway = opened
        self.server = server
        self.connector = connector
        self.line = line

    async def close(self) -> None:
        await self.connector.close()
        await self.line.close()


@contextmanager
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Discord]:
    """A fake Discord that the library in this process takes for the real one."""
    server = Discord()
    monkeypatch.setattr(discord.http.Route, "BASE", server.base)
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(server.gateway))
    try:
        yield server
    finally:
        server.close()


async def begin(opened: Opened, server: Discord, memory: Path, **settings: Any) -> Bot:
    """A connector of those settings."""
    chosen = Settings(**{"admin_users": [ADMIN], "allowed_users": [FRIEND], "edit_interval_ms": 250, **settings})

    async def reach() -> GatewayClient:
        return (await attach(opened.gateway.paths)).client

    connector = Connector(chosen, reach, Memory(memory))
    await connector.open()
    line = Line(TOKEN, connector.admission.judge, connector.hear_from_there, lambda: Missed(*connector.missed()),
                connector.passed_there)
    line.start()
    connector.begin(line)
    await opened.eventually(lambda: any(path.endswith("/commands") for _, path, _ in server.calls))
    return Bot(opened, server, connector, line)


@asynccontextmanager
async def bot(base: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> AsyncIterator[Bot]:
    """The whole of it on a fresh repository."""
    with served(monkeypatch) as server:
        async with gateway(base) as opened:
            running = await begin(opened, server, base / "memory.json", **settings)
            try:
                yield running
            finally:
                await running.close()


def program() -> list[str]:
    """The words before `connect discord` of a program that takes THETIS_TEST_DISCORD (host:port) for Discord."""
    return [sys.executable, "-m", "tests.support.discord_bots"]


def main() -> int:
    """`thetis` against a fake Discord."""
    from thetis_kernel.cli import main as thetis

    place = os.environ.pop("THETIS_TEST_DISCORD")
    discord.http.Route.BASE = f"http://{place}/api/v10"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(f"ws://{place}/")
    return thetis(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
