"""A full disk or an I/O error at any operation (D3, D4): nothing acknowledged is lost, and a retry is exactly one event."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from thetis_kernel.errors import StoreError, StoreFull
from thetis_kernel.protocol.events import Event, User
from thetis_kernel.store import ledger, writer
from thetis_kernel.store.store import Store

from tests.support.disk import FaultyDisk, io_error, no_space
from tests.support.logs import started

CHANGES = frozenset({"write", "sync", "truncate", "create", "delete"})
READS = frozenset({"read"})
SESSION = "0123456789abcdef"
EVENTS = 14


@pytest.fixture
def memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


class Trial:
    """One life of a log on a disk that fails at one operation (or from it on), and what its client was told."""

    def __init__(self, directory: Path, error: Callable[[], Exception], ops: frozenset[str], sticky: bool) -> None:
        self.directory = directory
        self.disk = FaultyDisk(error, ops, sticky)
        self.acknowledged: list[Event] = []
        self.errors: list[StoreError] = []

    def run(self, at: int) -> None:
        self.disk.at = at
        store = self._until_done(lambda: Store.open(self.directory, vfs=self.disk.vfs, free=lambda: 0))
        self.acknowledged.append(self._until_done(lambda: store.create(SESSION, started())))
        for i in range(EVENTS):
            body = User(text=f"event {i} " + "x" * 400 * (i % 4))
            self.acknowledged.append(
                self._until_done(lambda body=body, i=i: store.append(SESSION, body, event_id=f"e{i}").result(20))
            )
        store.close()
        self.disk.heal()

    def _until_done(self, act):
        """Retry as a client does after an unknown outcome; space returns after the first refusal."""
        for _attempt in range(4):
            try:
                return act()
            except StoreError as error:
                self.errors.append(error)
                self.disk.heal()
        raise AssertionError(f"never succeeded: {self.errors[-1]}")

    def judge(self) -> None:
        store = Store.open(self.directory, free=lambda: 0)
        try:
            there = store.read(SESSION)
            assert there == self.acknowledged
            assert len({event.event_id for event in there}) == EVENTS + 1
            assert all(verdict.sound for verdict in store.verify_all())
            with store._reader.snapshot() as db:
                assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        finally:
            store.close()


def trials(memory: Path, error: Callable[[], Exception], ops: frozenset[str], sticky: bool, step: int) -> tuple[int, int]:
    """A trial for every `step`-th operation; (how many saw the fault, how many saw it as an error)."""
    rehearsal = Trial(memory / "rehearsal", error, ops, sticky)
    rehearsal.run(0)
    total, hit, told = rehearsal.disk.count, 0, 0
    for at in range(1, total + 1, step):
        trial = Trial(memory / "trial", error, ops, sticky)
        trial.run(at)
        trial.judge()
        hit += trial.disk.hits > 0
        told += bool(trial.errors)
        if error is no_space and trial.errors:
            assert isinstance(trial.errors[0], StoreFull), trial.errors
        shutil.rmtree(memory / "trial")
    return hit, told


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints and spilled bodies within a few events."""
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(ledger, "INLINE_LIMIT", 900)


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("error", [io_error, no_space])
def test_a_fault_loses_nothing_acknowledged(memory: Path, error: Callable[[], Exception], sticky: bool) -> None:
    hit, told = trials(memory, error, CHANGES, sticky, step=17)
    assert hit > 15 and told > 3  # a single "no space" is often cured by the room the writer makes


def test_a_read_error_loses_nothing_acknowledged(memory: Path) -> None:
    hit, _ = trials(memory, io_error, READS, sticky=False, step=9)
    assert hit > 3


@pytest.mark.slow
@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("error", [io_error, no_space])
def test_a_fault_at_every_operation_loses_nothing_acknowledged(
    memory: Path, error: Callable[[], Exception], sticky: bool
) -> None:
    trials(memory, error, CHANGES, sticky, step=1)


@pytest.mark.slow
def test_a_read_error_at_every_operation_loses_nothing_acknowledged(memory: Path) -> None:
    trials(memory, io_error, READS, sticky=False, step=1)
