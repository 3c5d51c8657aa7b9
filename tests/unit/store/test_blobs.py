"""Blobs: named by what they hold, whole or absent, checked both ways."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest
from thetis_kernel.errors import StoreError, StoreFull, UsageError
from thetis_kernel.protocol.events import User
from thetis_kernel.store import files, removal
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.store import Store

from tests.support.logs import new


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def test_what_is_put_is_got(blobs):
    reference = blobs.put(b"content", media_type="text/plain", name="a.txt")
    assert (reference.digest, reference.size) == (hashlib.sha256(b"content").hexdigest(), 7)
    assert (reference.media_type, reference.name) == ("text/plain", "a.txt")
    assert blobs.get(reference.digest) == b"content"
    assert reference.digest in blobs and list(blobs) == [reference.digest]
    assert blobs.put(b"content").digest == reference.digest


def test_only_the_owner_can_read(blobs):
    path = blobs.path(blobs.put(b"secret").digest)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == path.parent.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n", "/" * 64])
def test_a_digest_is_no_path(blobs, digest):
    with pytest.raises(UsageError):
        blobs.get(digest)


def test_a_missing_blob_and_a_damaged_one_have_names(blobs):
    digest = blobs.put(b"content").digest
    blobs.path(digest).write_bytes(b"contenu")
    with pytest.raises(StoreError) as caught:
        blobs.get(digest)
    assert caught.value.code == "blob-damaged"
    blobs.put(b"content")
    assert blobs.get(digest) == b"content", "storing it again mends it"
    blobs.remove(digest)
    blobs.remove(digest)
    with pytest.raises(StoreError) as caught:
        blobs.get(digest)
    assert caught.value.code == "blob-missing"


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, StoreFull), (errno.EDQUOT, StoreFull), (errno.EIO, StoreError)])
def test_a_failed_write_leaves_nothing_visible(blobs, monkeypatch, number, kind):
    def fail(_fd: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(StoreError) as caught:
        blobs.put(b"content")
    assert type(caught.value) is kind
    monkeypatch.undo()
    assert list(blobs) == []


def test_the_file_is_synced_before_it_has_its_name(blobs, monkeypatch):
    order: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace
    monkeypatch.setattr(files.os, "fsync", lambda fd: (order.append(kind_of(fd)), real_fsync(fd))[1])
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append("rename"), real_replace(self, to))[1])
    blobs.put(b"content")
    assert order[-3:] == ["file", "rename", "directory"]


def kind_of(fd: int) -> str:
    return "directory" if os.path.isdir(f"/proc/self/fd/{fd}") else "file"


def test_a_large_body_is_a_blob_and_reads_back_whole(store):
    session = new(store)
    text = "x" * 200_000
    event = store.append(session, User(text=text)).result(10)
    assert len(list(store.blobs)) == 1
    assert store.read(session)[-1] == event and event.body.text == text
    assert store.find_event(event.event_id) == event


def test_a_blob_goes_with_the_last_conversation_that_needs_it(store):
    one, other = new(store), new(store)
    reference = store.blobs.put(b"shared")
    for session in (one, other):
        store.append(session, User(text="look", attachments=[reference])).result(10)
        store.append(session, User(text=session * 10_000)).result(10)
    assert len(list(store.blobs)) == 3
    store.delete(one)
    store.kv_put("a", "b", b"")  # after the trash was emptied
    assert len(list(store.blobs)) == 2 and reference.digest in store.blobs
    store.delete(other)
    store.kv_put("a", "b", b"")
    assert list(store.blobs) == []


def test_trash_a_crash_left_is_emptied_at_the_next_start(store, monkeypatch, tmp_path):
    session = new(store)
    store.append(session, User(text="y" * 100_000)).result(10)
    monkeypatch.setattr(removal, "empty_trash", lambda db, blobs: None)
    store.delete(session)
    store.close()
    assert len(list(store.blobs)) == 1
    monkeypatch.undo()
    again = Store.open(tmp_path / "data", free=lambda: 0)
    again.kv_put("a", "b", b"")
    assert list(again.blobs) == []
    again.close()


def test_a_blob_that_is_needed_again_is_no_trash(store):
    session = new(store)
    reference = store.blobs.put(b"wanted")
    store.append(session, User(text="look", attachments=[reference])).result(10)
    db = store._opened.connection

    def empty() -> None:
        db.execute("INSERT INTO blob_trash VALUES(?)", (reference.digest,))
        removal.empty_trash(db, store.blobs)

    store._writer.call(empty).result(10)
    assert reference.digest in store.blobs


def test_sweeping_takes_old_orphans_alone(store):
    session = new(store)
    kept = store.append(session, User(text="z" * 100_000)).result(10)
    young, old = store.blobs.put(b"young"), store.blobs.put(b"old")
    unfinished = store.blobs.path(old.digest).with_name(".unfinished")
    unfinished.write_bytes(b"ha")
    for path in (store.blobs.path(old.digest), unfinished):
        os.utime(path, (0, 0))
    for digest in store.blobs:
        if digest not in (young.digest, old.digest):
            os.utime(store.blobs.path(digest), (0, 0))
    assert store.sweep() == 2
    assert young.digest in store.blobs and old.digest not in store.blobs
    assert store.read(session)[-1] == kept
