"""Which guests serve a conversation: its own where it has changed them, else the shipped ones.

Each is judged once by the gate host and kept as an artifact. One that does not pass costs only itself: without a renderer
events are drawn plainly, without a tool the others serve; a conversation's own guest that passes no longer (the contract
changed under it) is replaced by the shipped one, and the log says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from thetis_kernel.errors import GateError, StoreError, ThetisError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.forge.service import Forge
from thetis_kernel.forge.source import read_guest
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.gateway.trust import TrustedTree
from thetis_kernel.protocol.events import Incident
from thetis_kernel.protocol.gate import GuestSource, Verdict
from thetis_kernel.protocol.worker import GuestBundle

AGENT, RENDERER, TOOL = "agent", "gateway/tui", "tool/"
SHIPPED_SERVES = "The shipped one serves, where there is one."


class Guests:
    """Bundles by aspect. A missing artifact is made by the gate; nothing of a guest that fails it is ever used."""

    def __init__(self, fleet: Fleet, shipped: Path, tools_config: dict[str, dict[str, Any]], bodies: Bodies | None = None,
                 incident: Callable[[str, Incident], Awaitable[Any]] | None = None,
                 trusted: TrustedTree | None = None) -> None:
        """`shipped`: where artifacts of shipped guests are kept. Without `bodies` these alone serve. `incident(session,
        body)` writes it into that conversation's log. `trusted`: the root's own guests, which a person trusts."""
        self._fleet = fleet
        self._forge = Forge(ArtifactStore(shipped), DisposableJudge(fleet.runtimes))
        self._bodies = bodies
        self._tools_config = tools_config
        self._incident = incident
        self._trusted = trusted
        self._replaced: list[str] = []
        self._told: set[tuple[str, str, str]] = set()
        self._found: dict[str, GuestBundle | GateError] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def agent(self, session: str = "") -> GuestBundle:
        """The agent that serves a conversation ("" = any new one). Raises GateError when the shipped one does not pass."""
        return await self._own(session, AGENT) or await self._bundle(AGENT)

    async def renderer(self, session: str = "") -> GuestBundle:
        """The gateway guest that renders a conversation's events. Raises GateError when the shipped one does not pass."""
        return await self._own(session, RENDERER) or await self._bundle(RENDERER)

    async def tool(self, session: str, name: str) -> GuestBundle | None:
        """The tool of this name as it serves the conversation now, None when there is none that passes."""
        aspect = TOOL + name
        own = await self._own(session, aspect)
        try:
            return own or (await self._bundle(aspect) if aspect in self._directories() else None)
        except GateError:
            return None

    async def tools(self, session: str = "") -> list[GuestBundle]:
        """The tool guests that pass, each with its own configuration block and no other."""
        own = await self._bodies.own_tools(session) if session and self._bodies else []
        names = sorted({*own, *(aspect for aspect in self._directories() if aspect.startswith(TOOL))})
        found = await asyncio.gather(*(self.tool(session, name.removeprefix(TOOL)) for name in names))
        return [one for one in found if one is not None]

    async def _own(self, session: str, aspect: str) -> GuestBundle | None:
        """The conversation's own guest; None when it has none, or one that serves no more."""
        if not session or self._bodies is None:
            return None
        try:
            verdict = await self._bodies.serving(session, aspect)
        except StoreError:
            raise
        except ThetisError as error:  # whatever became of the repository of guests, it costs no more than what was in it
            await self._tell(session, aspect, "", f"The conversation's own {aspect} cannot be read: {error}")
            return None
        if verdict is None:
            return None
        if not verdict.ok:
            failed = verdict.steps[-1]
            why = "; ".join(f"{d.path}:{d.line}: {d.message}" for d in failed.diagnostics[:3])
            earlier = await self._bodies.compatible(session, aspect)
            serves = f"Its revision {earlier[0].revision[:8]} serves." if earlier else SHIPPED_SERVES
            await self._tell(session, aspect, verdict.key,
                             f"The conversation's own {aspect} does not pass the gate any more, at {failed.step}: {why}", serves)
            return self.as_bundle(aspect, earlier[1]) if earlier else None
        return self.as_bundle(aspect, verdict)

    async def own_again(self, session: str, aspect: str) -> None:
        """Say in the log what serves in the place of a guest that passes no longer."""
        await self._own(session, aspect)

    async def _tell(self, session: str, aspect: str, key: str, message: str, serves: str = SHIPPED_SERVES) -> None:
        if self._incident is None or (session, aspect, key) in self._told:
            return
        self._told.add((session, aspect, key))
        told = Incident(code="guest-replaced", message=f"{message} {serves}", data={"aspect": aspect, "verdict": key})
        if self._bodies is None or not await self._bodies.told(session, told):
            await self._incident(session, told)

    def failures(self) -> list[str]:
        """Sentences about guests that do not serve."""
        return [*self._replaced, *(str(found) for found in self._found.values() if isinstance(found, GateError))]

    def _directories(self) -> dict[str, Path]:
        return {**shipped_guests(), **(self._trusted.directories if self._trusted else {})}

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
        if self._trusted is not None and aspect in self._trusted.directories:
            theirs = await self._of_the_root(aspect, self._trusted)
            if theirs is not None:
                return theirs
        if aspect not in shipped_guests():
            raise GateError(f"The checkout's {aspect} does not serve.", step="trust", hint="`thetis trust`", diagnostics=[])
        source, known = await asyncio.to_thread(self._read, shipped_guests()[aspect], aspect)
        verdict = known or await self._forge.verdict(source)
        if not verdict.ok:
            failed = verdict.steps[-1]
            places = [{"path": d.path, "line": d.line, "message": d.message} for d in failed.diagnostics]
            why = "; ".join(f"{d.path}:{d.line}: {d.message}" for d in failed.diagnostics[:3])
            raise GateError(f"The shipped guest {aspect} does not pass the gate at {failed.step}: {why}",
                            step=failed.step, hint="Reinstall Thetis, or look at `thetis doctor`.", diagnostics=places)
        return self.as_bundle(aspect, verdict)

    async def _of_the_root(self, aspect: str, tree: TrustedTree) -> GuestBundle | None:
        """The root's own guest; None, and a sentence in `failures`, when it passes no gate or is not what was trusted."""
        try:
            source, known = await asyncio.to_thread(self._read, tree.directories[aspect], aspect)
            if not await asyncio.to_thread(tree.unchanged):
                raise GateError(f"The checkout's {aspect} has changed since it was trusted.", step="trust",
                                hint="Look at `thetis trust`.", diagnostics=[])
            verdict = known or await self._forge.verdict(source)
        except ThetisError as error:
            self._replaced.append(f"{error} The shipped one serves, where there is one.")
            return None
        if verdict.ok:
            return self.as_bundle(aspect, verdict)
        failed = verdict.steps[-1]
        self._replaced.append(f"The checkout's {aspect} does not pass the gate at {failed.step}. "
                              "The shipped one serves, where there is one.")
        return None

    def as_bundle(self, aspect: str, verdict: Verdict) -> GuestBundle:
        """What passed, as a worker is handed it: a tool with its own configuration block and no other."""
        config = self._tools_config.get(aspect.removeprefix(TOOL), {}) if aspect.startswith(TOOL) else {}
        return GuestBundle(aspect=aspect, key=verdict.key, bundle=verdict.bundle, describes=verdict.describes,
                           config=json.dumps(config))

    def _read(self, directory: Path, aspect: str) -> tuple[GuestSource, Verdict | None]:
        source = read_guest(directory, aspect)
        return source, self._forge.known(source)
