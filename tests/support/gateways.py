"""A real gateway in this process, on a real repository, with a client that remembers what it was told."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import load
from thetis_kernel.gateway.fleet import worker_name
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol.client import Delta, EventStored
from thetis_kernel.protocol.events import Body
from thetis_kernel.protocol.wire import Tell

from tests.support.thetis import World


class Opened:
    """The gateway, a client, and everything the client heard."""

    def __init__(self, gateway: Gateway, client: GatewayClient, world: World) -> None:
        self.gateway = gateway
        self.client = client
        self.world = world
        self.heard: list[Tell] = []
        self._rang = asyncio.Event()
        client.listen(self._hear)

    def _hear(self, tell: Tell) -> None:
        self.heard.append(tell)
        self._rang.set()

    async def until(self, found: Callable[[list[Tell]], bool], seconds: float = 30) -> None:
        """Wait until what was heard satisfies `found`."""
        async with asyncio.timeout(seconds):
            while not found(self.heard):
                self._rang.clear()
                await self._rang.wait()

    async def eventually(self, found: Callable[[], bool], seconds: float = 30) -> None:
        """Wait for something nobody tells of."""
        async with asyncio.timeout(seconds):
            while not found():
                await asyncio.sleep(0.01)

    async def until_event(self, kind: type[Body], count: int = 1, seconds: float = 30) -> None:
        """Wait until `count` events of a kind were stored."""
        await self.until(lambda heard: len(bodies(heard, kind)) >= count, seconds)

    async def until_delta(self, kind: str, words: str = "", seconds: float = 30) -> None:
        """Wait for a delta that holds `words`."""
        await self.until(lambda heard: words in "".join(t.text for t in heard if isinstance(t, Delta) and t.kind == kind)
                         and any(isinstance(t, Delta) and t.kind == kind for t in heard), seconds)

    async def start(self, prompt: str, mode: str = "") -> str:
        """A new conversation that is told `prompt`; its id."""
        made = await self.client.create(origin="headless", mode=mode)
        await self.client.subscribe(made.id)
        await self.client.submit(made.id, prompt)
        return made.id

    async def log(self, session: str) -> list[Any]:
        """Bodies of the whole log in order."""
        return [event.body for event in (await self.client.read(session, 0, 1000)).events]

    def worker_pid(self, session: str) -> int:
        """The process id of the conversation's worker."""
        child = self.gateway.fleet.supervisor.get(worker_name(session))
        if child is None:
            raise LookupError(session)
        return child.pid


def bodies(heard: list[Tell], kind: type[Body]) -> list[Any]:
    """The bodies of one kind among what was heard."""
    return [t.event.body for t in heard if isinstance(t, EventStored) and isinstance(t.event.body, kind)]


@asynccontextmanager
async def gateway(base: Path, files: dict[str, str | bytes] | None = None, **settings: Any) -> AsyncIterator[Opened]:
    """Open one on a fresh repository (or the one already at `base`)."""
    world = World(base)
    if not (world.repository / ".git").exists():
        world.make_repository(files or {"README.md": "# Test\n"})
    os.environ.update({name: world.environ[name] for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR")})
    loaded = load(world.repository, base / "none.toml", environ={})
    opened = await Gateway.open(root_paths(world.repository), loaded, **settings)
    try:
        yield Opened(opened, await opened.connect(), world)
    finally:
        await opened.close()


def wait_for(found: Callable[[], bool], seconds: float = 10) -> bool:
    """Poll until `found()`; False at the deadline."""
    deadline = time.monotonic() + seconds
    while not found():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
