"""The gateway's side of the forge: source in, verdict out, judged at most once.

Owns the order known -> judged -> kept, and that two callers with one candidate share one judgement. How a judge comes
to be (a disposable process) is the caller's; this module must not import the engine, processes or steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from thetis_kernel.errors import IpcError, RemoteError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.key import Digests, artifact_key
from thetis_kernel.forge.source import source_digest
from thetis_kernel.protocol.gate import Diagnostic, GuestSource, JudgeGuest, StepResult, Verdict
from thetis_kernel.wasm.runtimes import runtime_digest

Judge = Callable[[JudgeGuest], Awaitable[Verdict]]
"""Asks a fresh gate host and kills it. May raise IpcError (it died, or took too long) and RemoteError."""
MAX_REMEMBERED_DEATHS = 64


class Forge:
    """Verdicts of candidates, from the store or a fresh judge."""

    def __init__(self, store: ArtifactStore, judge: Judge, digests: Digests = runtime_digest) -> None:
        self._store = store
        self._judge = judge
        self._digests = digests
        self._running: dict[str, asyncio.Task[Verdict]] = {}
        self._deaths: dict[str, Verdict] = {}

    def key(self, source: GuestSource) -> str:
        """The artifact key of a candidate."""
        return artifact_key(source, self._digests)

    def known(self, source: GuestSource) -> Verdict | None:
        """The verdict when there is one already; reads files only, a few ms."""
        return self._known(self.key(source))

    async def verdict(self, source: GuestSource) -> Verdict:
        """The verdict over a candidate. A pass is stored durably before this returns.

        A judge that dies or does not answer is a failing verdict too (step "gate"); it is remembered until this
        process ends, not on disk, since the machine may have been the cause. Raises StoreError when the disk is full,
        RuntimeBuildError when a runtime is missing.
        """
        key = self.key(source)
        known = self._known(key)
        if known is not None:
            return known
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._judged(source, key), name=f"judge {source.aspect}")
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(task)

    def again(self, source: GuestSource) -> None:
        """Forget what is known of a candidate, so that the next `verdict` judges it anew."""
        key = self.key(source)
        self._deaths.pop(key, None)
        self._store.forget(key)

    def _known(self, key: str) -> Verdict | None:
        return self._deaths.get(key) or self._store.get(key)

    async def _judged(self, source: GuestSource, key: str) -> Verdict:
        try:
            verdict = await self._judge(JudgeGuest(source, key))
        except (IpcError, RemoteError) as exc:
            return self._died(key, f"the gate did not survive judging this guest: {exc.message}")
        if verdict.key != key:
            return self._died(key, "the gate answered about another guest")
        await asyncio.to_thread(self._store.put, verdict, source_digest(source))
        return verdict

    def _died(self, key: str, why: str) -> Verdict:
        verdict = Verdict(False, key, [StepResult("gate", False, 0.0, [Diagnostic("", 0, why)])])
        while len(self._deaths) >= MAX_REMEMBERED_DEATHS:
            self._deaths.pop(next(iter(self._deaths)))
        self._deaths[key] = verdict
        return verdict
