"""The git host's handlers for the time machine: each a call into `thetis_kernel.repo.snapshots`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol import snapshots as s
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.snapshots import restoring, taking


def snapshot_handlers(job: Callable[..., Job]) -> dict[type[Ask[Any]], Callable[[Any, Serving], Any]]:
    """Request class -> handler; `job(serving, known=...)` makes what the work knows of its request."""
    return {
        s.TakeSnapshot: lambda ask, serving: taking.take(
            ask.root, ask.branch, ask.session, ask.seq, job(serving, known=ask.known)),
        s.FindSnapshot: lambda ask, _: taking.find(ask.root, ask.branch, ask.session, ask.seq, ask.ts_ms),
        s.RestoreSnapshot: lambda ask, serving: restoring.restore(
            ask.root, ask.branch, ask.commit, ask.session, ask.seq, job(serving, known=ask.known)),
        s.DropSnapshots: lambda ask, _: taking.drop(ask.root, ask.branch),
    }  # fmt: skip
