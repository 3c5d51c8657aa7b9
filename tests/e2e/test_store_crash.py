"""Kills at the store's crash points (D1): real processes, real SIGKILL, nothing acknowledged is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel import crash
from thetis_kernel.protocol.events import User
from thetis_kernel.store.store import Store

from tests.support.store_client import SESSION

POINTS = [name for name in crash.REGISTRY if name.startswith("append.")]
ROOT = Path(__file__).parents[2]


def run(directory: Path, command: str, count: int, **environment: str) -> tuple[int, list[list[str]]]:
    """Run the client; its exit status and the acknowledgements it gave."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.store_client", str(directory), command, str(count)],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    acks = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("ack ")]
    return done.returncode, acks


def check(directory: Path, acks: list[list[str]], total: int) -> None:
    """Everything acknowledged is there; a client that retries all its events ends with each exactly once."""
    store = Store.open(directory, free=lambda: 0)
    try:
        assert store.notices == []
        there = {event.event_id: event for row in store.sessions() for event in store.read(row.id, max_bytes=1 << 30)}
        for seq, event_id, digest in acks:
            assert (str(there[event_id].seq), there[event_id].hash) == (seq, digest)
        if not there:
            return
        for i in range(total):
            event = store.append(SESSION, User(text="retried"), event_id=f"e{i}").result(20)
            assert there.get(f"e{i}", event) == event
        seqs = [event.seq for event in store.read(SESSION, limit=10_000, max_bytes=1 << 30)]
        assert seqs == list(range(1, total + 2))
        assert store.verify(SESSION).sound
    finally:
        store.close()


@pytest.mark.parametrize("nth", [1, 2, 5, 30])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_loses_nothing_acknowledged(tmp_path: Path, point: str, nth: int) -> None:
    status, acks = run(tmp_path / "data", "append", 40, THETIS_CRASH=f"{point}:{nth}")
    assert status == -signal.SIGKILL
    check(tmp_path / "data", acks, 40)


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_in_a_group_leaves_all_of_it_or_nothing(tmp_path: Path, point: str) -> None:
    status, acks = run(tmp_path / "data", "group", 30, THETIS_CRASH=f"{point}:4")
    assert status == -signal.SIGKILL
    store = Store.open(tmp_path / "data", free=lambda: 0)
    assert (store.last_seq(SESSION) - 1) % 5 == 0
    store.close()
    check(tmp_path / "data", acks, 150)


def test_every_point_of_the_store_is_reached(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    status, _ = run(tmp_path / "data", "append", 3, THETIS_CRASH_TRACE=str(trace))
    assert status == 0
    assert set(trace.read_text().split()) == set(POINTS)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_kills_at_many_places_lose_nothing_acknowledged(tmp_path: Path, point: str) -> None:
    for nth in [*range(1, 30), *range(30, 400, 45)]:
        status, acks = run(tmp_path / str(nth), "append", 400, THETIS_CRASH=f"{point}:{nth}")
        assert status == -signal.SIGKILL
        check(tmp_path / str(nth), acks, 400)
