"""Backups (D11): of one moment, while the log is being written, and whole in themselves."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from thetis_kernel.errors import UsageError
from thetis_kernel.protocol.events import Event, User
from thetis_kernel.store.store import Store

from tests.support.logs import new, say


def restored(directory: Path) -> Store:
    return Store.open(directory, free=lambda: 0)


def test_a_backup_is_a_log_of_its_own(store, tmp_path):
    session, gone = new(store), new(store)
    say(store, session, "hello", "x" * 100_000, *(str(i) for i in range(100)))
    store.kv_put("a", "b", b"c")
    store.delete(gone)
    epoch = store.take_lease(session)
    store.backup(tmp_path / "backup")
    say(store, session, "after the backup")
    copy = restored(tmp_path / "backup")
    assert copy.notices == []
    assert copy.read(session, max_bytes=1 << 30) == store.read(session, max_bytes=1 << 30)[:-1]
    assert all(verdict.sound for verdict in copy.verify_all())
    assert [hit.seq for hit in copy.search("hello")] == [2]
    assert copy.kv_get("a", "b") == b"c" and copy.tombstone(gone) == store.tombstone(gone)
    assert copy.lease_epoch(session) == epoch
    say(copy, session, "goes on")
    copy.close()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "backup").rglob("*"))


def test_a_backup_under_load_holds_everything_acknowledged_before_it(store, tmp_path):
    session = new(store)
    acknowledged: list[Event] = []
    stop = threading.Event()

    def client() -> None:
        while not stop.is_set():
            acknowledged.append(store.append(session, User(text="x" * 500)).result(10))

    thread = threading.Thread(target=client)
    thread.start()
    try:
        for number in range(3):
            before = list(acknowledged)
            store.backup(tmp_path / str(number))
            copy = restored(tmp_path / str(number))
            there = copy.read(session, limit=10**6, max_bytes=1 << 30)
            assert there[1 : len(before) + 1] == before
            assert copy.verify(session).sound
            copy.close()
    finally:
        stop.set()
        thread.join(20)


@pytest.mark.parametrize("occupied", ["file", "directory"])
def test_a_backup_never_overwrites(store, tmp_path, occupied):
    target = tmp_path / "target"
    if occupied == "file":
        target.write_text("precious")
    else:
        target.mkdir()
        (target / "precious").write_text("precious")
    with pytest.raises(UsageError):
        store.backup(target)
    assert (target if occupied == "file" else target / "precious").read_text() == "precious"


def test_a_damaged_blob_is_kept_as_it_is(store, tmp_path):
    session = new(store)
    say(store, session, "y" * 100_000, "z" * 100_000)
    first, second = (store.blobs.path(digest) for digest in store.blobs)
    first.write_bytes(b"damaged")
    second.unlink()
    store.backup(tmp_path / "backup")
    copy = restored(tmp_path / "backup")
    assert not copy.verify(session).sound
    assert copy.blobs.path(first.parent.name + first.name).read_bytes() == b"damaged"
    copy.close()
