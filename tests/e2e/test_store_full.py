"""A device that really is full (D4): nothing acknowledged is lost, reading goes on, and so does writing once there is room."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.errors import StoreFull
from thetis_kernel.protocol.events import User
from thetis_kernel.store.store import Store

from tests.support.logs import new
from tests.support.store_client import SESSION

ROOT = Path(__file__).parents[2]


def mount(directory: Path, *options: str) -> bool:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(directory)], check=False,
                          capture_output=True)  # fmt: skip
    return done.returncode == 0


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "device"
    directory.mkdir()
    if not mount(directory, "size=3m"):
        pytest.skip("mounting a small file system takes root; the test with a file size limit covers the same path")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_full_device_refuses_and_then_goes_on(device: Path) -> None:
    store = Store.open(device / "data")
    session = new(store)
    acknowledged = []
    with pytest.raises(StoreFull) as caught:
        for i in range(5000):
            acknowledged.append(store.append(session, User(text="x" * 2000), event_id=f"e{i}").result(20))
    assert caught.value.hint
    assert len(acknowledged) > 100
    assert not store.accepts_turns()
    whole = store.read(session, limit=10_000, max_bytes=1 << 30)
    assert whole[1 : len(acknowledged) + 1] == acknowledged

    assert mount(device, "remount", "size=256m")
    retried = store.append(session, User(text="x" * 2000), event_id=f"e{len(acknowledged)}").result(20)
    assert retried.seq == len(acknowledged) + 2
    assert store.accepts_turns()
    store.close()

    again = Store.open(device / "data")
    assert again.read(session, limit=10_000, max_bytes=1 << 30)[1:] == [*acknowledged, retried]
    assert again.verify(session).sound
    again.close()


def test_a_blob_without_room_leaves_no_half(device: Path) -> None:
    store = Store.open(device / "data")
    session = new(store)
    with pytest.raises(StoreFull):
        store.append(session, User(text="x" * 4_000_000)).result(20)
    assert list(store.blobs) == [] and store.last_seq(session) == 1
    assert store.append(session, User(text="small")).result(20).seq == 2
    store.close()


def test_a_limit_on_file_sizes_is_a_full_device(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.store_client", str(tmp_path / "data"), "fill", str(2_000_000)],
        cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    acks = [line.split()[1:] for line in lines if line.startswith("ack ")]
    assert "full store-full" in lines, (lines[-3:], done.stderr[-500:])
    assert done.returncode == 0 and len(acks) > 50
    store = Store.open(tmp_path / "data")
    there = {event.event_id: event.hash for event in store.read(SESSION, limit=10_000, max_bytes=1 << 30)}
    assert all(there[event_id] == digest for _, event_id, digest in acks)
    store.close()
