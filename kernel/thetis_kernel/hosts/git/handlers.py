"""What the git host answers: one handler a request, each a call into `thetis_kernel.repo`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from thetis_kernel.crash import point
from thetis_kernel.errors import IpcError, RepoError
from thetis_kernel.hosts.git.branches import branch_handlers
from thetis_kernel.hosts.git.snapshots import snapshot_handlers
from thetis_kernel.ipc.threads import AskHandlers, Serving, ThreadPeer
from thetis_kernel.ipc.vocabulary import tag_of
from thetis_kernel.protocol import git
from thetis_kernel.protocol.known import Known
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.repo import lease
from thetis_kernel.repo.changes import count_changes
from thetis_kernel.repo.commit import commit_turn
from thetis_kernel.repo.diff import diff
from thetis_kernel.repo.files import read_files
from thetis_kernel.repo.history import branch_status, log
from thetis_kernel.repo.inspection import inspect_root, locate
from thetis_kernel.repo.job import Job, Phase
from thetis_kernel.repo.layout import record_directory
from thetis_kernel.repo.library import LIBGIT2_ERRORS
from thetis_kernel.repo.locks import locked
from thetis_kernel.repo.materialise import materialise
from thetis_kernel.repo.offers import accept_offer
from thetis_kernel.repo.worktrees import list_worktrees, not_ours, remove_worktree, sweep
from thetis_kernel.scrub.prints import Finder
from thetis_kernel.toolhost.guarded import Guard

PATIENCE = 10.0
"""Seconds a request waits for a lock somebody else holds, when its deadline allows."""
NOTHING = Known()
GUARD = Guard()
MOST_SEARCHED = 4 * 1024 * 1024
"""Bytes of a file that are searched for secrets before it is committed."""


class Handlers:
    """The table of handlers, and which requests are being served. `peer` is set before the first one arrives."""

    def __init__(self) -> None:
        self.peer: ThreadPeer | None = None
        self._lock = threading.Lock()
        self._open: dict[int, tuple[str, Serving]] = {}
        self._last = 0

    def table(self) -> AskHandlers:
        """Request class -> handler."""
        handlers: dict[type[Ask[Any]], Callable[[Any, Serving], Any]] = {
            git.InspectRoot: lambda ask, _: inspect_root(ask.path),
            git.AcceptOffer: lambda ask, _: accept_offer(ask.path, ask.offer),
            git.CountChanges: lambda ask, _: count_changes(ask.root),
            git.Materialise: self._materialise,
            git.CommitTurn: lambda ask, serving: commit_turn(
                ask.root, ask.branch, ask.message, ask.author, self._job(serving, known=ask.known)
            ),
            git.Diff: lambda ask, _: diff(
                ask.root, ask.branch, base=ask.base, trunk=ask.trunk, uncommitted=ask.uncommitted, max_bytes=ask.max_bytes
            ),
            git.BranchStatus: lambda ask, _: branch_status(ask.root, ask.branch, ask.trunk),
            git.Log: lambda ask, _: log(ask.root, ask.branch, ask.limit, ask.since),
            git.ListWorktrees: lambda ask, _: list_worktrees(ask.root, details=ask.details),
            git.RemoveWorktree: lambda ask, serving: remove_worktree(
                ask.root, ask.branch, self._job(serving), discard=ask.discard
            ),
            git.SweepWorktrees: lambda ask, serving: sweep(ask.root, self._job(serving)),
            git.HoldWorktree: self._hold,
            git.ReleaseWorktree: self._release,
            git.ReadFiles: lambda ask, _: read_files(ask.root, ask.commit, ask.directory),
        }
        handlers.update(branch_handlers(self._job))
        handlers.update(snapshot_handlers(self._job))
        return {kind: self._observed(tag_of(kind), handler) for kind, handler in handlers.items()}

    def overdue(self, grace: float) -> str:
        """The tag of a request still being served `grace` seconds after its deadline; "" for none."""
        with self._lock:
            served = list(self._open.values())
        return next((tag for tag, serving in served if _late(serving, grace)), "")

    def _observed(self, tag: str, handler: Callable[[Any, Serving], Any]) -> Callable[[Any, Serving], Any]:
        def serve(ask: Any, serving: Serving) -> Any:
            point("git-host.request")
            with self._lock:
                self._last += 1
                number = self._last
                self._open[number] = (tag, serving)
            try:
                return handler(ask, serving)
            except LIBGIT2_ERRORS as error:
                raise RepoError(f"git could not answer {tag}: {str(error).rstrip('.')}.", kind="git") from error
            finally:
                with self._lock:
                    del self._open[number]

        return serve

    def _materialise(self, ask: git.Materialise, serving: Serving) -> git.Materialised:
        def report(phase: Phase, done: int, total: int) -> None:
            try:
                if self.peer is not None:
                    self.peer.tell(git.GitProgress(ask.branch, phase, done, total))
            except IpcError:
                pass  # nobody listens any more; `check` ends the work

        job = self._job(serving, None if ask.quiet else report)
        return materialise(
            ask.root, ask.branch, ask.worktree, job,
            base=ask.base, with_changes=ask.with_changes, recorded=ask.recorded, link=ask.link, copy=ask.copy,
        )  # fmt: skip

    def _hold(self, ask: git.HoldWorktree, serving: Serving) -> None:
        record = record_directory(locate(ask.root), ask.branch)
        try:
            with locked(record, self._job(serving)):
                lease.hold(record, ask.branch, ask.pid)
        except FileNotFoundError as error:
            raise not_ours(record) from error

    def _release(self, ask: git.ReleaseWorktree, serving: Serving) -> None:
        record = record_directory(locate(ask.root), ask.branch)
        try:
            with locked(record, self._job(serving)):
                lease.release(record, ask.pid)
        except FileNotFoundError:
            return  # nothing is held there

    def _job(self, serving: Serving, report: Callable[[Phase, int, int], None] | None = None, known: Known = NOTHING) -> Job:
        left = serving.remaining()
        patience = PATIENCE if left is None else min(PATIENCE, left)
        finder = Finder(known.prints, known.salt)
        return Job(serving.check, report or (lambda phase, done, total: None), patience,
                   lambda data: b"\0" not in data[:8192] and bool(finder.find(data[:MOST_SEARCHED])), GUARD.holds)


def _late(serving: Serving, grace: float) -> bool:
    return serving.deadline is not None and time.monotonic() > serving.deadline + grace
