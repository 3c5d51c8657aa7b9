"""Group commit: one sync a group, answers after it, and a thread that nothing ends."""

from __future__ import annotations

import asyncio
import shutil
import threading
from concurrent.futures import Future
from pathlib import Path

import apsw
import pytest
from thetis_kernel.clock import FakeClock
from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import Event, User
from thetis_kernel.store import opening, writer
from thetis_kernel.store.store import Store

from tests.support.disk import RecordingDisk
from tests.support.logs import new, say


class Gate:
    """Holds the writer's thread inside one piece of work, so that whatever comes next waits together."""

    def __init__(self, store: Store) -> None:
        self._inside, self._go = threading.Event(), threading.Event()
        self.done = store._writer.call(self._hold)
        assert self._inside.wait(10)

    def _hold(self) -> None:
        self._inside.set()
        assert self._go.wait(10)

    def open(self) -> None:
        self._go.set()
        self.done.result(10)


@pytest.fixture
def disk() -> RecordingDisk:
    return RecordingDisk()


@pytest.fixture
def recorded(tmp_path: Path, disk: RecordingDisk):
    store = Store.open(tmp_path / "data", vfs=disk.vfs, free=lambda: 0)
    yield store
    store.close()


def test_one_append_is_one_sync(recorded, disk):
    session = new(recorded)
    say(recorded, session, "warm")
    before = disk.syncs("thetis.db-wal")
    say(recorded, session, *"abcdefghij")
    assert disk.syncs("thetis.db-wal") - before == 10
    assert disk.syncs("thetis.db") == 2, "making the file and marking it live"


@pytest.mark.parametrize(("waiting", "groups"), [(2, 1), (64, 1), (65, 2), (200, 4)])
def test_what_waits_together_is_synced_together(recorded, disk, waiting, groups):
    sessions = [new(recorded) for _ in range(4)]
    gate = Gate(recorded)
    before = disk.syncs("thetis.db-wal")
    futures = [recorded.append(sessions[i % 4], User(text=f"{i}")) for i in range(waiting)]
    gate.open()
    events = [future.result(10) for future in futures]
    assert disk.syncs("thetis.db-wal") - before == groups
    for session in sessions:
        assert recorded.read(session)[1:] == [event for event in events if event.session == session]


def test_a_group_is_also_bounded_in_bytes(recorded, disk):
    session = new(recorded)
    gate = Gate(recorded)
    before = disk.syncs("thetis.db-wal")
    futures = [recorded.append(session, User(text="x" * 60_000)) for _ in range(36)]
    gate.open()
    for future in futures:
        future.result(10)
    assert disk.syncs("thetis.db-wal") - before == 2


def test_an_answer_comes_after_the_sync(recorded, disk):
    session = new(recorded)
    seen: list[int] = []
    for i in range(5):
        future = recorded.append(session, User(text=str(i)))
        future.add_done_callback(lambda _: seen.append(disk.syncs("thetis.db-wal")))
        future.result(10)
    assert seen == sorted(set(seen)) and len(seen) == 5


def test_one_refusal_does_not_touch_its_group(store):
    session = new(store)
    gate = Gate(store)
    first = store.append(session, User(text="a"))
    refused = store.append("f" * 16, User(text="b"))
    conflict = store.append(session, User(text="c"), expected_seq=99)
    last = store.append(session, User(text="d"))
    gate.open()
    assert (first.result(10).seq, last.result(10).seq) == (2, 3)
    for future in (refused, conflict):
        with pytest.raises(Exception):  # noqa: B017 - two kinds, told apart in the contract
            future.result(10)


def test_one_impossible_request_does_not_touch_its_group(store, monkeypatch):
    session = new(store)
    insert = store._ledger._write

    def break_one(head, entry, now):
        if b"poison" in entry.raw:
            store._opened.connection.execute("INSERT INTO events SELECT * FROM events LIMIT 1")
        return insert(head, entry, now)

    monkeypatch.setattr(store._ledger, "_write", break_one)
    gate = Gate(store)
    futures = [store.append(session, User(text=text)) for text in ("a", "poison", "b")]
    gate.open()
    assert futures[0].result(10).seq == 2 and futures[2].result(10).seq == 3
    with pytest.raises(StoreError):
        futures[1].result(10)
    assert [event.body.text for event in store.read(session)[1:]] == ["a", "b"]


def test_a_bug_in_one_piece_of_work_does_not_end_the_thread(store):
    def bug() -> None:
        raise ZeroDivisionError

    with pytest.raises(StoreError, match="ZeroDivisionError"):
        store._writer.call(bug).result(10)
    assert say(store, new(store), "alive")


def test_a_forgotten_or_cancelled_append_is_still_written(store):
    session = new(store)
    gate = Gate(store)
    future = store.append(session, User(text="a"))
    assert not future.cancel()
    del future
    gate.open()
    say(store, session, "b")
    assert [event.body.text for event in store.read(session)[1:]] == ["a", "b"]


async def test_asyncio_waits_without_blocking(store):
    session = new(store)
    events = await asyncio.gather(*(asyncio.wrap_future(store.append(session, User(text=str(i)))) for i in range(50)))
    assert [event.seq for event in events] == list(range(2, 52))
    task = asyncio.ensure_future(asyncio.wrap_future(store.append(session, User(text="last"))))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    say(store, session, "after")
    assert store.last_seq(session) == 53, "cancelling the waiting does not cancel the writing"


def test_many_threads_many_conversations(store):
    sessions = [new(store) for _ in range(6)]
    got: dict[str, list[Event]] = {session: [] for session in sessions}

    def client(session: str) -> None:
        for i in range(40):
            got[session].append(store.append(session, User(text=f"{session} {i}")).result(10))
            if i % 10 == 0:
                assert store.read(session)[-1].seq == i + 2

    threads = [threading.Thread(target=client, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for session in sessions:
        assert store.read(session)[1:] == got[session]
        assert store.verify(session).sound


def test_after_closing_everything_is_refused_in_words(store):
    session = new(store)
    pending: list[Future[Event]] = [store.append(session, User(text=str(i))) for i in range(100)]
    store.close()
    assert pending[-1].result(0).seq == 101, "what was handed over is written before it closes"
    for act in (lambda: store.append(session, User(text="late")).result(10), lambda: store.read(session),
                lambda: store.take_lease(session)):  # fmt: skip
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.code == "store-closed"
    store.close()


def test_the_write_ahead_log_is_copied_back_and_used_again(store, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 50)
    session = new(store)
    say(store, session, *(f"event {i} " + "x" * 500 for i in range(400)))
    assert (store.data_dir / "thetis.db-wal").stat().st_size < 400 * 4096 * 3
    assert (store.data_dir / "thetis.db").stat().st_size > 200_000


def test_a_reader_that_stays_only_delays_copying_back(store, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 50)
    session = new(store)
    calls = []
    monkeypatch.setattr(store._writer, "_copy_back", lambda real=store._writer._copy_back: calls.append(1) or real())
    with store._reader.snapshot() as db:
        db.execute("SELECT count(*) FROM events").fetchall()
        say(store, session, *(f"event {i}" for i in range(200)))
        assert 2 <= len(calls) < 60
    assert store.verify(session).sound


def test_order_is_by_number_whatever_the_clock_says(tmp_path):
    clock = FakeClock()
    store = Store.open(tmp_path / "data", clock=clock, free=lambda: 0)
    session = new(store)
    for seconds in (10, -86_400, 10 * 365 * 86_400, -86_400):
        clock.advance(seconds)
        say(store, session, str(seconds))
    events = store.read(session)
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert events[2].ts_ms < events[1].ts_ms < events[3].ts_ms
    assert store.verify(session).sound and store.session(session).last_seq == 5
    store.close()


def test_no_event_is_taken_after_the_files_were_replaced(store):
    session = new(store)
    (store.data_dir / "thetis.db-wal").rename(store.data_dir / "gone")
    future = store.append(session, User(text="a"))
    with pytest.raises(StoreError):
        future.result(10)
    with pytest.raises(StoreError):
        store.append(session, User(text="b")).result(10)


def test_a_rolled_back_transaction_is_forgotten(store, monkeypatch):
    session = new(store)
    flush = store._ledger.flush

    def fail() -> None:
        flush()
        raise apsw.IOError("injected")

    monkeypatch.setattr(store._ledger, "flush", fail)
    with pytest.raises(StoreError):
        store.append(session, User(text="never")).result(10)
    monkeypatch.undo()
    assert say(store, session, "a")[0].seq == 2
    assert store.verify(session).sound


def test_the_write_ahead_log_has_its_working_size_from_the_start(tmp_path):
    store = Store.open(tmp_path / "data", free=lambda: 1 << 40)
    session = new(store)
    wal = tmp_path / "data" / "thetis.db-wal"
    size = wal.stat().st_size
    assert size >= opening.WAL_BYTES
    say(store, session, *(f"event {i}" for i in range(100)))
    assert wal.stat().st_size == size
    copy = tmp_path / "crash"
    shutil.copytree(tmp_path / "data", copy)
    store.close()
    assert wal.stat().st_size == 0
    again = Store.open(copy, free=lambda: 0)
    assert again.last_seq(session) == 101 and again.verify(session).sound
    again.close()
