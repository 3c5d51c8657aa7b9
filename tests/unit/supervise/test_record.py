"""Leftover children are found by pid and start time, and nobody else is harmed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.supervise.record import Entry, Record, reap_leftovers, start_time


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_a_recorded_child_that_still_runs_is_ended_even_stopped(tmp_path: Path, sleeper) -> None:
    path = tmp_path / "children.json"
    Record(path).add(sleeper.pid, "worker a")
    os.kill(sleeper.pid, signal.SIGSTOP)
    assert [entry.name for entry in reap_leftovers(path)] == ["worker a"]
    assert sleeper.wait(10) == -signal.SIGKILL
    assert not path.exists()


def test_another_process_with_the_same_pid_is_left_alone(tmp_path: Path, sleeper) -> None:
    path = tmp_path / "children.json"
    path.write_bytes(msgspec.json.encode([Entry(sleeper.pid, "another time", "worker a"), Entry(1, "x", "init")]))
    assert reap_leftovers(path) == []
    assert sleeper.poll() is None


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[{"pid": "x"}]', b"\xff\xfe", b"[" * 100_000])
def test_an_unreadable_record_counts_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "children.json"
    path.write_bytes(content)
    assert reap_leftovers(path) == []
    assert not path.exists()


def test_the_record_follows_the_fleet(tmp_path: Path, sleeper) -> None:
    path = tmp_path / "children.json"
    record = Record(path)
    record.add(sleeper.pid, "a")
    record.add(os.getpid(), "b")
    assert {e["name"] for e in msgspec.json.decode(path.read_bytes())} == {"a", "b"}
    record.remove(sleeper.pid)
    record.remove(os.getpid())
    assert list(tmp_path.glob("children*")) == []


def test_a_process_that_is_gone_has_no_start_time(sleeper) -> None:
    assert start_time(sleeper.pid) == start_time(sleeper.pid) is not None
    sleeper.kill()
    sleeper.wait()
    assert start_time(sleeper.pid) is None
