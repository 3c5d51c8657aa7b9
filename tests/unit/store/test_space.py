"""Room (R7): no new turn on a nearly full device, a reserve for the turns that run, and back by itself."""

from __future__ import annotations

import pytest
from thetis_kernel.errors import StoreFull
from thetis_kernel.protocol.events import User
from thetis_kernel.store import space
from thetis_kernel.store.space import FLOOR_BYTES, RESERVE_BYTES, Space
from thetis_kernel.store.store import Store

from tests.support.disk import FaultyDisk, no_space
from tests.support.logs import new, say

PLENTY = FLOOR_BYTES + RESERVE_BYTES


class Device:
    """Free bytes as the test says."""

    def __init__(self, free: int = PLENTY) -> None:
        self.free = free

    def __call__(self) -> int:
        return self.free


def test_turns_are_refused_below_the_floor_and_taken_above(tmp_path):
    device = Device()
    room = Space(tmp_path, device)
    assert room.accepts_turns()
    device.free = FLOOR_BYTES - 1
    assert not room.accepts_turns()
    device.free = FLOOR_BYTES
    assert room.accepts_turns()


def test_the_reserve_is_real_and_made_only_when_there_is_room(tmp_path):
    device = Device(PLENTY - 1)
    room = Space(tmp_path, device)
    assert not room.prepare() and not (tmp_path / space.RESERVE).exists()
    device.free = PLENTY
    assert room.prepare() and room.prepare()
    status = (tmp_path / space.RESERVE).stat()
    assert status.st_size == RESERVE_BYTES and status.st_blocks * 512 >= RESERVE_BYTES
    assert status.st_mode & 0o777 == 0o600


def test_after_a_failed_append_only_room_for_the_reserve_counts(tmp_path):
    """A quota says there is room and the write fails."""
    device = Device()
    room = Space(tmp_path, device)
    room.prepare()
    assert room.release() and not room.release()
    device.free = FLOOR_BYTES + 1
    assert not room.accepts_turns()
    device.free = PLENTY
    assert room.accepts_turns() and (tmp_path / space.RESERVE).exists()


def test_a_successful_append_counts_too(tmp_path):
    device = Device(FLOOR_BYTES + 1)
    room = Space(tmp_path, device)
    room.release()
    assert not room.accepts_turns()
    room.wrote()
    assert room.accepts_turns()


def test_a_reserve_that_cannot_be_made_whole_is_not_made(tmp_path, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(space.os, "posix_fallocate", fail)
    assert not Space(tmp_path, Device()).prepare()
    assert not (tmp_path / space.RESERVE).exists()


def test_the_reserve_lets_a_running_turn_end(tmp_path):
    """The device is full until the reserve is freed; the append that met it is answered as if nothing had been."""

    class Full(FaultyDisk):
        def before(self, op, name, offset, data):
            if op == "write" and self.at and (tmp_path / "data" / space.RESERVE).exists():
                raise no_space()

    disk, device = Full(no_space, frozenset({"write"})), Device()
    store = Store.open(tmp_path / "data", vfs=disk.vfs, free=device)
    session = new(store)
    disk.at, device.free = 1, 0
    assert store.append(session, User(text="the result")).result(10).seq == 2
    assert not (tmp_path / "data" / space.RESERVE).exists()
    assert not store.accepts_turns()
    device.free = PLENTY
    disk.at = 0
    assert store.accepts_turns()
    store.close()


def test_a_full_disk_is_over_when_there_is_space(tmp_path):
    disk = FaultyDisk(no_space, frozenset({"write"}), sticky=True)
    store = Store.open(tmp_path / "data", vfs=disk.vfs, free=lambda: 0)
    session = new(store)
    disk.at = disk.count + 1
    for _attempt in range(3):
        with pytest.raises(StoreFull):
            store.append(session, User(text="no")).result(10)
    assert store.read(session)[-1].seq == 1
    disk.heal()
    assert say(store, session, "yes")[0].seq == 2
    store.close()
