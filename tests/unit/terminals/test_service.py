"""The worker and its terminals: a read-only mode ends them at once, a running command keeps the worker."""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.hosts.worker.service import WorkerService
from thetis_kernel.protocol.worker import ModeChanged

from tests.support.terminals import Turn
from tests.support.walls import BARE, alive, mark, wait_until

__all__ = ["mark"]


def test_a_mode_that_becomes_read_only_ends_what_runs(tmp_path: Path, mark: str) -> None:
    service = WorkerService({})
    turn = Turn(tmp_path, BARE, service._pool)
    turn.do("open")
    assert service.is_idle()
    turn.do("run", id="t1", command=f"sleep {mark}", background=True)
    assert not service.is_idle() and len(alive(mark)) == 1
    service.change_mode(ModeChanged(turn="t1", mode="ask", read_only=False, ask=["exec"]))
    assert len(alive(mark)) == 1
    service.change_mode(ModeChanged(turn="t1", mode="plan", read_only=True, ask=[]))
    assert wait_until(lambda: not alive(mark) and service.is_idle())
    turn.close()
