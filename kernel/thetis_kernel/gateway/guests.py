"""Which guests serve: the shipped ones, each judged once by the gate host and kept as an artifact.

One that does not pass costs only itself: without a renderer events are drawn plainly, without a tool the others serve.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from thetis_kernel.errors import GateError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.forge.service import Forge
from thetis_kernel.forge.source import read_guest
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import GuestSource, Verdict
from thetis_kernel.protocol.worker import GuestBundle

AGENT, RENDERER, TOOL = "agent", "gateway/tui", "tool/"


class Guests:
    """Bundles by aspect. A missing artifact is made by the gate; nothing of a guest that fails it is ever used."""

    def __init__(self, fleet: Fleet, artifacts: Path, tools_config: dict[str, dict[str, Any]]) -> None:
        self._fleet = fleet
        self._forge = Forge(ArtifactStore(artifacts), DisposableJudge(fleet.runtimes))
        self._tools_config = tools_config
        self._found: dict[str, GuestBundle | GateError] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def agent(self) -> GuestBundle:
        """The agent that serves. Raises GateError when it does not pass."""
        return await self._bundle(AGENT)

    async def renderer(self) -> GuestBundle:
        """The gateway guest that renders events. Raises GateError when it does not pass."""
        return await self._bundle(RENDERER)

    async def tools(self) -> list[GuestBundle]:
        """The tool guests that pass, each with its own configuration block and no other."""
        names = [aspect for aspect in shipped_guests() if aspect.startswith(TOOL)]
        found = await asyncio.gather(*(self._bundle(name) for name in names), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, GateError):
                raise one
        return [one for one in found if isinstance(one, GuestBundle)]

    def failures(self) -> list[str]:
        """Sentences about guests that do not serve."""
        return [str(found) for found in self._found.values() if isinstance(found, GateError)]

    async def _bundle(self, aspect: str) -> GuestBundle:
        async with self._locks.setdefault(aspect, asyncio.Lock()):
            if aspect not in self._found:
                try:
                    self._found[aspect] = await self._load(aspect)
                except GateError as error:
                    self._found[aspect] = error
        found = self._found[aspect]
        if isinstance(found, GateError):
            raise found
        return found

    async def _load(self, aspect: str) -> GuestBundle:
        await self._fleet.runtimes("compiler", aspect.partition("/")[0])  # their digests are part of the artifact's key
        source, known = await asyncio.to_thread(self._read, shipped_guests()[aspect], aspect)
        verdict = known or await self._forge.verdict(source)
        if not verdict.ok:
            failed = verdict.steps[-1]
            places = [{"path": d.path, "line": d.line, "message": d.message} for d in failed.diagnostics]
            why = "; ".join(f"{d.path}:{d.line}: {d.message}" for d in failed.diagnostics[:3])
            raise GateError(f"The shipped guest {aspect} does not pass the gate at {failed.step}: {why}",
                            step=failed.step, hint="Reinstall Thetis, or look at `thetis doctor`.", diagnostics=places)
        config = self._tools_config.get(aspect.removeprefix(TOOL), {}) if aspect.startswith(TOOL) else {}
        return GuestBundle(aspect=aspect, key=verdict.key, bundle=verdict.bundle, describes=verdict.describes,
                           config=json.dumps(config))

    def _read(self, directory: Path, aspect: str) -> tuple[GuestSource, Verdict | None]:
        source = read_guest(directory, aspect)
        return source, self._forge.known(source)
