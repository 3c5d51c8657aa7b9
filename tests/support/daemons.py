"""A daemon of a test's world: started by the command, looked at from outside, and gone when the test is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thetis_kernel.cli.attach import Reached, attach
from thetis_kernel.errors import IpcError, RemoteError
from thetis_kernel.paths import RootPaths, root_paths

from tests.support.gateways import wait_for
from tests.support.thetis import World


def status(world: World) -> dict[str, Any]:
    """What `thetis daemon status --json` says."""
    told: dict[str, Any] = json.loads(world.run("daemon", "status", "--json", check=False).stdout)
    return told


@contextmanager
def daemon(world: World, *arguments: str) -> Iterator[int]:
    """A running one; its process. Whatever became of it, it and its keeper are ended afterwards."""
    pid = json.loads(world.run("daemon", "start", "--json", *arguments).stdout)["pid"]
    keeper = parent_of(pid)
    try:
        yield pid
    finally:
        world.run("daemon", "stop", "--now", check=False)
        if keeper > 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGTERM)
            wait_for(lambda: not alive(keeper))


def alive(pid: int) -> bool:
    """Whether it runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def parent_of(pid: int) -> int:
    """Its parent process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def workers_of(pid: int) -> list[int]:
    """The workers of a gateway's process."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            with contextlib.suppress(OSError):
                if b"worker" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                    found.append(int(child))
    return found


def paths_of(world: World) -> RootPaths:
    """The state of the world's root, its socket included."""
    os.environ.update({name: world.environ[name] for name in ("THETIS_STATE", "XDG_RUNTIME_DIR")})
    return root_paths(world.repository)


class Follower:
    """A client that follows conversations through gateways that come and go, as a screen does."""

    def __init__(self, paths: RootPaths) -> None:
        self.paths = paths
        self.seen: dict[str, list[tuple[int, str]]] = {}
        self.reached = 0
        self.tasks: list[asyncio.Task[None]] = []

    def follow(self, session: str) -> None:
        """From its beginning, until told to stop."""
        self.seen[session] = []
        self.tasks.append(asyncio.create_task(self._follow(session)))

    async def _follow(self, session: str) -> None:
        events = self.seen[session]
        while True:
            try:
                found: Reached = await attach(self.paths)
                self.reached += 1
                async for stored in found.client.events(session, events[-1][0] if events else 0):
                    events.append((stored.event.seq, stored.event.hash))
            except (IpcError, RemoteError):
                await asyncio.sleep(0.05)

    def has(self, session: str, seq: int) -> bool:
        """Whether it has seen that event."""
        return bool(self.seen[session]) and self.seen[session][-1][0] >= seq

    async def stop(self) -> None:
        """Follow nothing any more."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
