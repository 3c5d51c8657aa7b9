"""The git host's handlers for branches beyond the commit after a turn: each a call into `thetis_kernel.repo`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol import branches as b
from thetis_kernel.protocol import kernels as k
from thetis_kernel.protocol import publishing as p
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.repo import branching, forward, landing
from thetis_kernel.repo.export import export, tree_of
from thetis_kernel.repo.guard import guard
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.publishing import publish
from thetis_kernel.repo.texts import merge_files


def branch_handlers(job: Callable[..., Job]) -> dict[type[Ask[Any]], Callable[[Any, Serving], Any]]:
    """Request class -> handler; `job(serving, known=...)` makes what the work knows of its request."""
    return {
        b.UpdateBranch: lambda ask, serving: branching.update(
            ask.root, ask.branch, ask.trunk, job(serving, known=ask.known)),
        b.CompleteMerge: lambda ask, serving: branching.complete(
            ask.root, ask.branch, ask.message, job(serving, known=ask.known)),
        b.AbortMerge: lambda ask, serving: branching.abort(ask.root, ask.branch, job(serving)),
        b.ResetBranch: lambda ask, serving: branching.reset(ask.root, ask.branch, ask.to, job(serving, known=ask.known)),
        b.PlanLanding: lambda ask, serving: landing.plan(ask.root, ask.branch, ask.trunk, ask.target, job(serving)),
        b.LandBranch: lambda ask, serving: landing.land(
            ask.root, ask.branch, trunk=ask.trunk, target=ask.target, tip=ask.tip, onto=ask.onto, message=ask.message,
            job=job(serving, known=ask.known)),
        b.ApplyBranch: lambda ask, serving: forward.apply(ask.root, ask.branch, job(serving)),
        p.PublishTrunk: lambda ask, serving: publish(ask.root, ask.remake, job(serving)),
        p.GuardPushes: lambda ask, _: guard(ask.root, ask.wanted),
        k.TreeOf: lambda ask, _: tree_of(ask.root, ask.commit, ask.directory),
        k.Export: lambda ask, _: export(ask.root, ask.commit, ask.directory, ask.into),
        b.MergeFiles: lambda ask, _: merge_files(ask.root, ask.base, ask.ours, ask.theirs, ask.names),
    }  # fmt: skip
