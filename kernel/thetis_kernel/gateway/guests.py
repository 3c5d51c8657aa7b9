"""Which guests serve: the shipped ones, each judged once by the gate host and kept as an artifact."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from thetis_kernel.errors import GateError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.builtin import builtin_sources
from thetis_kernel.forge.key import artifact_key
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.protocol.gate import JudgeGuest
from thetis_kernel.protocol.worker import GuestBundle

JUDGE_SECONDS = 120.0


class Guests:
    """Bundles by aspect. A missing artifact is made by the gate; a failing one raises and nothing of it is used."""

    def __init__(self, fleet: Fleet, artifacts: Path, tools_config: dict[str, dict[str, Any]]) -> None:
        self._fleet = fleet
        self._store = ArtifactStore(artifacts)
        self._tools_config = tools_config
        self._bundles: dict[str, GuestBundle] = {}
        self._lock = asyncio.Lock()

    async def agent(self) -> GuestBundle:
        """The agent that serves."""
        return (await self._all())["agent"]

    async def renderer(self) -> GuestBundle:
        """The gateway guest that renders events."""
        return (await self._all())["gateway/tui"]

    async def tools(self) -> list[GuestBundle]:
        """The tool guests, each with its own configuration block and no other."""
        return [bundle for aspect, bundle in sorted((await self._all()).items()) if aspect.startswith("tool/")]

    async def _all(self) -> dict[str, GuestBundle]:
        async with self._lock:
            if not self._bundles:
                self._bundles = await self._load()
        return self._bundles

    async def _load(self) -> dict[str, GuestBundle]:
        bundles = {}
        judged = False
        for source in await asyncio.to_thread(builtin_sources):
            key = artifact_key(source)
            found = await asyncio.to_thread(self._store.get, key)
            if found is None:
                gate = await self._fleet.gate()
                judged = True
                found = await gate.peer.call(JudgeGuest(source=source, key=key), timeout=JUDGE_SECONDS)
                await asyncio.to_thread(self._store.put, found)
            if not found.ok:
                failed = found.steps[-1]
                raise GateError(f"The shipped guest {source.aspect} does not pass the gate at {failed.step}.",
                                step=failed.step, hint="Reinstall Thetis, or look at `thetis doctor`.",
                                diagnostics=[{"path": d.path, "line": d.line, "message": d.message} for d in failed.diagnostics])
            name = source.aspect.removeprefix("tool/")
            config = self._tools_config.get(name, {}) if source.aspect.startswith("tool/") else {}
            bundles[source.aspect] = GuestBundle(aspect=source.aspect, key=key, bundle=found.bundle, describes=found.describes,
                                                 config=json.dumps(config))
        if judged:
            await self._fleet.stop("gate")
        return bundles
