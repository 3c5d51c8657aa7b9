"""Clones into the workspace: a process for each, its progress at the call, one rename when it is whole.

A clone is made in a private directory that no command can see, so nothing an agent runs can meddle with it while the
kernel writes there. Must not know who may ask; only that nobody may in a read-only mode.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Callable
from typing import Any

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import PeerGone, Refused, ThetisError
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.log import Log
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.clone import Clone, Cloned, CloneProgress, CloneRepository
from thetis_kernel.supervise.spawn import Plan, spawn
from thetis_kernel.toolhost import cloning

SECONDS = 900.0
"""For one clone. 1 GiB at 10 Mbit/s takes 860 s."""
AT_ONCE = 2
"""Clones side by side in a root; more wait."""


class Cloning:
    """Carries out what workers ask for. `begin` belongs to the root's lock: it clears what a killed gateway left."""

    def __init__(self, log: Log, modes: Modes, broadcast: Broadcast, paths: RootPaths) -> None:
        self._log = log
        self._modes = modes
        self._broadcast = broadcast
        self._workspace = paths.workspace
        self._private = paths.base / "clones"
        self._free = asyncio.Semaphore(AT_ONCE)

    def sweep(self) -> None:
        """Remove half-made clones; nothing of them is of use."""
        shutil.rmtree(self._private, ignore_errors=True)

    def asks(self, session: str) -> dict[type[Any], Callable[[Any], Any]]:
        """The handlers for one conversation's worker."""
        return {CloneRepository: lambda ask: self.clone(session, ask)}

    async def clone(self, session: str, ask: CloneRepository) -> Cloned:
        """The clone as it lies in the workspace. Raises Refused, RepoError, CloneError, ThetisError `exists`."""
        if self._modes.get((await self._log.state(session)).mode).read_only:
            raise Refused("This conversation is in a read-only mode: nothing is cloned by any route.", capability="http",
                          hint="A person can switch the mode.")
        found, name = cloning.checked(ask.url, ask.directory, ask.ref, ask.depth)
        if self._log.scrubber is not None and self._log.scrubber.knows(msgspec.json.encode(ask)):
            raise Refused("The address holds a secret of this machine.", capability="http", hint="Ask without it.")
        target = self._workspace / name
        if os.path.lexists(target):
            raise _occupied(name)
        private = self._private / secrets.token_hex(8)
        await asyncio.to_thread(lambda: self._private.mkdir(mode=0o700, exist_ok=True))
        try:
            async with self._free:
                made = await self._made(session, ask.call, Clone(
                    url=str(found), place=str(private), ref=ask.ref, depth=ask.depth,
                    literal=cloning.private(found.origin.host)))
            try:
                await asyncio.to_thread(os.rename, private, target)
            except OSError as error:
                raise _occupied(name) from error
        finally:
            await asyncio.to_thread(shutil.rmtree, private, ignore_errors=True)
        return msgspec.structs.replace(made, path=f"/workspace/{name}")

    async def _made(self, session: str, call: str, ask: Clone) -> Cloned:
        def progress(tell: CloneProgress) -> None:
            self._broadcast.publish(Delta(session=session, kind="output", text=_line(tell), call=call), session)

        child = await spawn(Plan("clone", tells={CloneProgress: progress}), name="the host of a clone")
        try:
            return await child.peer.call(ask, timeout=SECONDS)
        except PeerGone as error:
            ended = await child.wait()
            raise ThetisError(f"The clone was ended from outside: {ended.words}.", code="clone-ended",
                              hint="Perhaps it needed more memory or a larger file than a clone may have.") from error
        finally:
            child.kill()
            await child.wait()


def _line(tell: CloneProgress) -> str:
    so_far = f", {tell.bytes / (1 << 20):.1f} MiB" if tell.bytes else ""
    what = {"receiving": "objects received", "resolving": "deltas resolved", "checkout": "files written"}[tell.stage]
    return f"{tell.done} of {tell.total} {what}{so_far}\n"


def _occupied(name: str) -> ThetisError:
    return ThetisError(f"/workspace/{name} is there already.", code="exists",
                       hint="Give another name with dir, or use what is there.")
