"""One life of a log on a recording disk, and the judgement of every wreck a power cut could have made of it."""

from __future__ import annotations

import random
import shutil
from concurrent.futures import Future
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import Event, Rewind, StateChanged, User
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store import admission, connection, files, ledger, opening, writer
from thetis_kernel.store.store import Store

from tests.support.disk import RecordingDisk, Wreck
from tests.support.logs import started


class Judgement(msgspec.Struct):
    """Counts over wrecks: opened fine, lost an acknowledged event, damaged or not openable."""

    states: int = 0
    lost: int = 0
    corrupt: int = 0
    complaints: list[str] = []


class Life:
    """A recorded life: operations, and which events were acknowledged after how many of them."""

    def __init__(self, disk: RecordingDisk) -> None:
        self.disk = disk
        self.acknowledged: list[tuple[int, Event]] = []

    def note(self, event: Event) -> None:
        self.acknowledged.append((len(self.disk.ops), event))


def live(directory: Path, monkeypatch: pytest.MonkeyPatch, *, lying: bool = False, synchronous: int | None = None) -> Life:
    """First start, appends one by one and in groups, checkpoints, a spilled body, a clean close, a second start.

    `synchronous` instead of the store's own setting, which is what is tried without it.
    """
    disk = RecordingDisk(lying)
    life = Life(disk)
    replace, sync_dir = files.replace, files.sync_dir

    def recorded(path: Path, content: bytes) -> None:
        replace(path, content)
        if path.name == admission.RECORD:
            disk.ops.append(("whole", path.name, 0, content))

    def synced(path: Path) -> None:
        sync_dir(path)
        if path.name == "data" and not lying:
            disk.ops.append(("syncdir", "", 0, b""))

    monkeypatch.setattr(files, "replace", recorded)
    monkeypatch.setattr(files, "sync_dir", synced)
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 25)
    monkeypatch.setattr(ledger, "INLINE_LIMIT", 900)
    monkeypatch.setattr(opening, "WAL_BYTES", 300_000)
    if synchronous is not None:
        monkeypatch.setitem(connection.PRAGMAS, "synchronous", synchronous)
    for start in range(2):
        store = Store.open(directory / "data", vfs=disk.vfs, free=lambda: 0)
        if start:
            _widen(store, disk)
        sessions = [new_session_id() for _ in range(2)]
        for session in sessions:
            life.note(store.create(session, started()))
        for i in range(25):
            for session in sessions:
                _watch(life, store.append(session, User(text=f"event {i} " + "x" * (i * 50))))
            store.append(sessions[0], StateChanged("notes", "k", str(i))).result(20)
        group = store.append_many(sessions[0], [User(text=f"group {i}") for i in range(20)] + [Rewind(to_seq=3)])
        for event in group.result(20):
            life.note(event)
        store.close()
    monkeypatch.setattr(files, "replace", replace)
    monkeypatch.setattr(files, "sync_dir", sync_dir)
    return life


def _widen(store: Store, disk: RecordingDisk) -> None:
    """What a start with room does to the write-ahead log, noted like SQLite's own writes to it."""

    def work() -> None:
        wal = store.data_dir / "thetis.db-wal"
        before = wal.stat().st_size
        opening.widen(store.data_dir / "thetis.db")
        added = wal.read_bytes()[before:]
        assert len(added) > 100_000 and not any(added)
        disk.ops.append(("write", wal.name, before, added))
        disk.ops.append(("sync", wal.name, 0, b""))

    store._writer.call(work).result(20)


def _watch(life: Life, future: Future[Event]) -> None:
    """Note the acknowledgement in the writer's thread, before its next operation; wait like a client does."""
    future.add_done_callback(lambda done: life.note(done.result()))
    future.result(20)


def judge(life: Life, data: Path, scratch: Path, states: int, seed: int) -> Judgement:
    """Rebuild `states` wrecks, at cuts spread over the whole life, and open each as a kernel would."""
    rng = random.Random(seed)
    wreck = Wreck(life.disk.ops, rng)
    judgement = Judgement()
    total = len(life.disk.ops)
    for number in range(states):
        # The first start is short and made of special cases, so it gets more than its share.
        cut = rng.randrange(min(60, total)) if number % 5 == 0 else rng.randrange(total + 1)
        how = ("drop", "subset", "torn", "keep")[number % 4]
        target = scratch / "wreck"
        wreck.rebuild(cut, how, target)
        shutil.copytree(data / "blobs", target / "blobs")
        complaint = _judge_one(life, target, cut)
        judgement.states += 1
        judgement.lost += complaint.startswith("lost")
        judgement.corrupt += bool(complaint) and not complaint.startswith("lost")
        if complaint:
            judgement.complaints.append(f"cut {cut}/{total} {how}: {complaint}")
        shutil.rmtree(target)
    return judgement


def _judge_one(life: Life, directory: Path, cut: int) -> str:
    try:
        store = Store.open(directory, free=lambda: 0)
    except ThetisError as error:
        return f"cannot be opened: {error}"
    try:
        with store._reader.snapshot() as db:
            broken = db.execute("PRAGMA integrity_check").fetchall()
        if broken != [("ok",)]:
            return f"integrity: {broken[:3]}"
        for verdict in store.verify_all():
            if not verdict.sound:
                return f"unsound: {verdict.detail}"
        there = {event.event_id: event for row in store.sessions() for event in store.read(row.id, max_bytes=1 << 30)}
        for at, event in life.acknowledged:
            if at <= cut and there.get(event.event_id) != event:
                return f"lost {event.session} {event.seq}"
        session = new_session_id()
        store.create(session, started())
        return ""
    except ThetisError as error:
        return f"cannot be used: {error}"
    finally:
        store.close()
