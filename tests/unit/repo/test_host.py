"""The git host around the repo package: what it takes, what it does about a request that never returns."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from thetis_kernel.errors import PeerGone, RepoError
from thetis_kernel.hosts import git as host
from thetis_kernel.hosts.git.handlers import Handlers
from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol import git
from thetis_kernel.protocol.branches import BRANCH_ASKS
from thetis_kernel.protocol.kernels import KERNEL_GIT_ASKS
from thetis_kernel.protocol.publishing import GuardPushes, PublishTrunk
from thetis_kernel.protocol.snapshots import SNAPSHOT_ASKS

from tests.support.waiting import blocking_until


class Exited(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handlers]:
    """Handlers whose InspectRoot waits for an event, as on a pipe."""
    release = threading.Event()
    monkeypatch.setattr("thetis_kernel.hosts.git.handlers.inspect_root", lambda path: release.wait(30))
    yield Handlers()
    release.set()


def serve(handlers: Handlers, seconds: float | None) -> threading.Thread:
    serving = Serving(None if seconds is None else time.monotonic() + seconds)
    thread = threading.Thread(target=handlers.table()[git.InspectRoot], args=(git.InspectRoot("/"), serving), daemon=True)
    thread.start()
    blocking_until(lambda: handlers._open)
    return thread


def test_every_request_of_the_vocabulary_has_a_handler() -> None:
    assert set(Handlers().table()) == {*git.GIT_ASKS, *BRANCH_ASKS, *KERNEL_GIT_ASKS, *SNAPSHOT_ASKS, PublishTrunk, GuardPushes}


@pytest.mark.parametrize(
    ("seconds", "grace", "overdue"), [(0.0, 0.0, True), (0.0, 60.0, False), (60.0, 0.0, False), (None, 0.0, False)]
)
def test_only_a_request_long_past_its_deadline_is_overdue(
    seconds: float | None, grace: float, overdue: bool, handlers: Handlers
) -> None:
    serve(handlers, seconds)
    time.sleep(0.001)
    assert handlers.overdue(grace) == ("git.inspect" if overdue else "")


def test_a_stuck_request_ends_the_process_with_a_word(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def leave(status: int) -> None:
        raise Exited(status)

    monkeypatch.setattr(host, "GRACE", 0.0)
    monkeypatch.setattr("os._exit", leave)
    serve(handlers, 0.0)
    with pytest.raises(Exited, match="75"):
        host._watch(handlers.overdue)
    assert "git.inspect did not come back" in capsys.readouterr().err


def test_what_libgit2_says_becomes_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: str) -> None:
        raise OSError("object not found - no match for id")

    monkeypatch.setattr("thetis_kernel.hosts.git.handlers.inspect_root", fails)
    handlers = Handlers()
    with pytest.raises(RepoError, match=r"git could not answer git.inspect: object not found"):
        handlers.table()[git.InspectRoot](git.InspectRoot("/"), Serving(None))
    assert handlers.overdue(-1e9) == ""


def test_progress_to_a_peer_that_is_gone_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def tell(self, tell: object) -> None:
            raise PeerGone("the gateway is gone")

    monkeypatch.setattr("thetis_kernel.hosts.git.handlers.materialise",
                        lambda root, branch, where, job, **_: job._report("checkout", 1, 2))  # fmt: skip
    handlers = Handlers()
    handlers.peer = Gone()  # type: ignore[assignment]
    handlers.table()[git.Materialise](git.Materialise("/", "conv/x", "/wt"), Serving(None))
