"""Damage (D5): found when read, quarantines one conversation, leaves the others and the kernel alone."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import apsw
import pytest
from thetis_kernel.errors import SessionDamaged, StoreError, UsageError
from thetis_kernel.protocol.events import Event, User
from thetis_kernel.store import chain, salvage
from thetis_kernel.store.store import Store

from tests.support.logs import new, say, started

EVENTS = 150


class Log:
    """A closed log of three conversations written in turn, and what they said."""

    def __init__(self, directory: Path) -> None:
        store = Store.open(directory, free=lambda: 0)
        self.directory = directory
        self.sessions = [new(store) for _ in range(3)]
        for i in range(EVENTS):
            for session in self.sessions:
                store.append(session, User(text=f"{session} event {i} " + "words " * (i % 40)))
        self.events: dict[str, list[Event]] = {s: store.read(s) for s in self.sessions if say(store, s, "last")}
        store.close()

    def copy(self, target: Path) -> Path:
        shutil.copytree(self.directory, target)
        return target

    def rows(self, session: str) -> list[tuple[int, bytes]]:
        """(seq, the row's bytes as they stand in the file, found by its body)."""
        return [(event.seq, event.raw) for event in self.events[session]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return Log(tmp_path_factory.mktemp("log") / "data")


def reopen(directory: Path) -> Store:
    return Store.open(directory, free=lambda: 0)


def flip(path: Path, offset: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ (1 << bit)]))


def edit(directory: Path, statement: str, *bindings: object) -> None:
    """Damage by SQL, the triggers out of the way."""
    db = apsw.Connection(str(directory / "thetis.db"))
    db.pragma("recursive_triggers", 0)
    guards = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name <> 'events_move_the_head'"
    for trigger in [name for (name,) in db.execute(guards)]:
        db.execute(f"DROP TRIGGER {trigger}")
    db.execute(statement, bindings)
    db.close()


def good_prefix(store: Store, session: str) -> list[Event]:
    got: list[Event] = []
    while page := store.read(session, after=got[-1].seq if got else 0, salvage=True):
        got += page
    return got


def unreadable(store: Store, session: str) -> bool:
    """Whether reading the whole conversation meets damage."""
    try:
        return store.read(session, limit=10**6, max_bytes=1 << 30) == []
    except SessionDamaged:
        return True


def test_flipped_bits_in_rows_are_found_and_hurt_nobody_else(log, tmp_path):
    content = (log.directory / "thetis.db").read_bytes()
    rng = random.Random(5)
    found = missed = 0
    for trial in range(40):
        victim = rng.choice(log.sessions)
        _, raw = rng.choice(log.rows(victim))
        # The row as stored: seq and ids before the body, the hash after it.
        start = content.index(raw)
        offset = rng.randrange(start - 40, start + len(raw) + 32)
        directory = log.copy(tmp_path / str(trial))
        flip(directory / "thetis.db", offset, rng.randrange(8))
        store = reopen(directory)
        damaged = [session for session in log.sessions if unreadable(store, session)]
        assert damaged == [session for session in log.sessions if not store.verify(session).sound]
        found += bool(damaged)
        missed += not damaged
        assert len(damaged) <= 1
        for session in log.sessions:
            assert good_prefix(store, session) == log.events[session][: len(good_prefix(store, session))]
            if session not in damaged:
                assert store.read(session, max_bytes=1 << 30) == log.events[session]
                assert say(store, session, "goes on")
        store.close()
        shutil.rmtree(directory)
    assert missed == 0 and found == 40


@pytest.mark.slow
def test_five_hundred_flipped_bits_in_rows(log, tmp_path):
    content = (log.directory / "thetis.db").read_bytes()
    rng = random.Random(6)
    missed = []
    for trial in range(500):
        _, raw = rng.choice(log.rows(rng.choice(log.sessions)))
        start = content.index(raw)
        offset = rng.randrange(start - 40, start + len(raw) + 32)
        directory = log.copy(tmp_path / str(trial))
        flip(directory / "thetis.db", offset, bit := rng.randrange(8))
        store = reopen(directory)
        damaged = [session for session in log.sessions if unreadable(store, session)]
        if not damaged:
            missed.append((offset, bit))
        for session in set(log.sessions) - set(damaged):
            assert store.read(session, max_bytes=1 << 30) == log.events[session]
        store.close()
        shutil.rmtree(directory)
    assert len(missed) <= 5, missed


@pytest.mark.parametrize(
    "change",
    ["body = x'7b7d'", "hash = zeroblob(32)", "kind = 'nudge'", "ts_ms = ts_ms + 1", "v = 2", "event_id = 'x'", "form = 1"],
)
def test_a_changed_row_is_found_where_it_is(log, tmp_path, change):
    directory = log.copy(tmp_path / "copy")
    victim = log.sessions[1]
    edit(directory, f"UPDATE events SET {change} WHERE seq = 70 AND session = 2")
    store = reopen(directory)
    with pytest.raises(SessionDamaged) as caught:
        store.read(victim, after=60)
    assert caught.value.data["seq"] == 69 and caught.value.data["session"] == victim
    assert good_prefix(store, victim) == log.events[victim][:69]
    assert store.read(victim, after=64, limit=5) == log.events[victim][64:69], "what is before it can be read"
    for reader in (store.state, store.repairs, store.read_projected, lambda s: list(store.iterate(s))):
        with pytest.raises(SessionDamaged):
            reader(victim)
    store.close()


@pytest.mark.parametrize(
    ("statement", "good"),
    [
        ("DELETE FROM events WHERE session = 2 AND seq = 100", 99),
        ("DELETE FROM events WHERE session = 2 AND seq > 100", 100),
        ("DELETE FROM events WHERE session = 2", 0),
        ("UPDATE events SET seq = seq + 1000 WHERE session = 2 AND seq > 100", 100),
        ("UPDATE events SET session = 3, seq = 9999 WHERE session = 2 AND seq = 1", 0),
    ],
)
def test_missing_rows_are_found(log, tmp_path, statement, good):
    directory = log.copy(tmp_path / "copy")
    edit(directory, statement)
    store = reopen(directory)
    verdicts = {verdict.session: verdict for verdict in store.verify_all()}
    assert verdicts[log.sessions[1]].good_seq == good and not verdicts[log.sessions[1]].sound
    assert verdicts[log.sessions[0]].sound and verdicts[log.sessions[2]].sound
    store.close()


def test_damage_quarantines_until_it_is_mended(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    victim = log.sessions[0]
    edit(directory, "UPDATE events SET ts_ms = ts_ms + 1 WHERE seq = 50 AND session = 1")
    store = reopen(directory)
    with pytest.raises(SessionDamaged):
        store.read(victim)
    with pytest.raises(SessionDamaged):
        store.append(victim, User(text="no")).result(10)
    with pytest.raises(SessionDamaged):
        store.append(victim, User(text="no")).result(10)
    assert store.session(victim).damaged == 50
    fork = new(store, parent=victim, parent_seq=49, relation="fork")
    assert [event.seq for event in store.iterate(fork)] == list(range(1, 51)), "the good part can be gone on from"
    say(store, fork, "goes on")
    with pytest.raises(SessionDamaged):
        new(store, parent=victim, parent_seq=50, relation="fork")
    store.close()

    again = reopen(directory)
    assert again.session(victim).damaged == 50, "remembered"
    again.close()
    edit(directory, "UPDATE events SET ts_ms = ts_ms - 1 WHERE seq = 50 AND session = 1")
    mended = reopen(directory)
    assert mended.verify(victim).sound
    assert mended.session(victim).damaged == 0
    assert say(mended, victim, "again")[0].seq == EVENTS + 3
    mended.close()


def test_a_damaged_blob_damages_its_conversation_alone(store):
    session, other = new(store), new(store)
    say(store, session, "before", "x" * 100_000, "after")
    say(store, other, "fine")
    path = store.blobs.path(next(iter(store.blobs)))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SessionDamaged) as caught:
        store.read(session)
    assert caught.value.data["seq"] == 2
    assert [event.seq for event in good_prefix(store, session)] == [1, 2]
    assert not store.verify(session).sound and store.verify(other).sound


def pages(directory: Path) -> list[int]:
    """The numbers of the pages that hold the events, in the order of the events."""
    db = apsw.Connection(str(directory / "thetis.db"))
    try:
        found = db.execute("SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' ORDER BY path").fetchall()
        return [int(page) for (page,) in found]
    finally:
        db.close()


@pytest.mark.parametrize("fill", [b"\0", b"\xff"])
def test_a_lost_page_hurts_only_what_was_on_it(log, tmp_path, fill):
    directory = log.copy(tmp_path / "copy")
    leaves = pages(directory)
    blank(directory, leaves[len(leaves) // 2], fill)
    store = reopen(directory)
    for session in log.sessions:
        good = good_prefix(store, session)
        assert good == log.events[session][: len(good)] and len(good) > EVENTS // 4
    session = new(store)
    say(store, session, "the kernel goes on")
    assert store.verify(session).sound and len(store.sessions()) == 4
    store.close()


def test_a_damaged_title_hides_no_conversation(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    edit(directory, "UPDATE sessions SET title = CAST(x'ff61' AS TEXT) WHERE num = 1")
    store = reopen(directory)
    assert {row.id for row in store.sessions()} == set(log.sessions)
    assert "\ufffda" in [row.title for row in store.sessions()]
    store.close()


def test_a_damaged_head_is_found(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    edit(directory, "UPDATE sessions SET head = zeroblob(32) WHERE num = 1")
    store = reopen(directory)
    assert not store.verify(log.sessions[0]).sound
    store.close()


def test_broken_seals_only_cost_time(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    edit(directory, "UPDATE seals SET crc = 1 - crc")
    store = reopen(directory)
    assert all(verdict.sound for verdict in store.verify_all())
    store.close()


def test_a_seal_that_fits_a_changed_row_deceives_a_page_and_no_verification(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    victim = log.sessions[0]
    edit(directory, "UPDATE events SET ts_ms = ts_ms + 1 WHERE seq = 50 AND session = 1")
    columns = "seq, event_id, kind, v, ts_ms, form, body, hash"
    db = apsw.Connection(str(directory / "thetis.db"))
    run = db.execute(f"SELECT {columns} FROM events WHERE session = 1 AND seq <= {chain.RUN} ORDER BY seq").fetchall()
    db.close()
    edit(directory, "UPDATE seals SET crc = ? WHERE session = 1 AND seq = ?", chain.seal(victim, run), chain.RUN)
    store = reopen(directory)
    assert len(store.read(victim, limit=chain.RUN)) == chain.RUN, "seals are checksums: they are not made against forgers"
    verdict = store.verify(victim)
    assert (verdict.sound, verdict.good_seq) == (False, 49)
    store.close()


def test_seals_are_made_as_the_log_grows(store):
    session = new(store)
    say(store, session, *(str(i) for i in range(chain.RUN * 2)))
    fork = new(store, parent=session, parent_seq=30, relation="fork")
    say(store, fork, *(str(i) for i in range(chain.RUN * 2)))
    with store._reader.snapshot() as db:
        sealed = db.execute("SELECT session, seq FROM seals ORDER BY session, seq").fetchall()
    assert sealed == [(1, 64), (1, 128), (2, 128)], "a fork's first run is not whole"


def whole_or_quarantined(store: Store, log: Log) -> tuple[int, int]:
    """Every conversation is whole, or damaged with a good beginning; how many of each."""
    damaged = 0
    for session in log.sessions:
        good = good_prefix(store, session)
        assert good == log.events[session][: len(good)]
        if len(good) < len(log.events[session]):
            damaged += 1
            with pytest.raises(SessionDamaged):
                store.append(session, User(text="no")).result(10)
        else:
            say(store, session, "goes on")
    return len(log.sessions) - damaged, damaged


@pytest.mark.parametrize("kept", [0.5, 0.7, 0.95])
def test_a_cut_file_is_rebuilt_from_what_is_left(log, tmp_path, kept):
    directory = log.copy(tmp_path / "copy")
    path = directory / "thetis.db"
    os.truncate(path, int(path.stat().st_size * kept) // 4096 * 4096)
    before = path.read_bytes()
    store = reopen(directory)
    assert len(store.notices) == 1 and "rebuilt" in store.notices[0]
    assert len(store.sessions()) == 3
    _, damaged = whole_or_quarantined(store, log)
    assert damaged or kept > 0.9, "so much cannot have been pages of indexes alone"
    session = new(store)
    say(store, session, "the kernel goes on")
    assert [hit.session for hit in store.search("kernel goes on")] == [session]
    store.close()
    (aside,) = directory.glob("damaged-*")
    assert (aside / "thetis.db").read_bytes() == before, "kept as it was"
    again = reopen(directory)
    assert again.notices == [] and len(again.sessions()) == 4
    again.close()


def test_rows_behind_a_lost_page_are_not_lost(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    leaves = pages(directory)
    blank(directory, leaves[5])
    (directory / salvage.MARK).touch()
    store = reopen(directory)
    with store._reader.snapshot() as db:
        (kept,) = db.execute("SELECT count(*) FROM events").fetchone()
    total = sum(len(events) for events in log.events.values())
    assert total - 40 < kept < total
    whole_or_quarantined(store, log)
    store.close()


def test_what_lost_its_end_is_refused_before_anybody_reads_it(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    blank(directory, pages(directory)[-1])
    store = reopen(directory)
    damaged = [row.id for row in store.sessions() if row.damaged]
    assert damaged
    with pytest.raises(SessionDamaged):
        store.append(damaged[0], User(text="no")).result(10)
    store.close()


def test_damage_at_the_end_is_rebuilt_at_once(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    blank(directory, pages(directory)[-1])
    store = reopen(directory)
    assert len(store.notices) == 1
    whole_or_quarantined(store, log)
    say(store, new(store), "goes on")
    store.close()


def test_damage_that_stops_every_append_is_rebuilt_at_the_next_start(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    db = apsw.Connection(str(directory / "thetis.db"))
    index = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_events_1'").get
    db.close()
    blank(directory, index)
    store = reopen(directory)
    with pytest.raises(StoreError) as caught:
        new(store)
    assert caught.value.code == "store-corrupt" and "again" in caught.value.hint
    store.close()
    again = reopen(directory)
    assert len(again.notices) == 1
    assert whole_or_quarantined(again, log) == (3, 0), "an index holds nothing of its own"
    say(again, new(again), "goes on")
    again.close()


def blank(directory: Path, page: int, fill: bytes = b"\0") -> None:
    with (directory / "thetis.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(fill * 4096)


@pytest.mark.parametrize("step", ["replace", "private_dir", "sync_dir"])
def test_a_rebuilding_cut_short_is_finished_later(log, tmp_path, monkeypatch, step):
    directory = log.copy(tmp_path / "copy")
    path = directory / "thetis.db"
    os.truncate(path, path.stat().st_size // 4096 // 2 * 4096)

    def cut(*_args):
        raise OSError(5, "cut")

    with monkeypatch.context() as patch:
        patch.setattr(salvage.files, step, cut)
        with pytest.raises((StoreError, OSError)):
            reopen(directory)
    store = reopen(directory)
    assert len(store.sessions()) == 3
    whole_or_quarantined(store, log)
    store.close()
    assert not (directory / salvage.MARK).exists()


def test_a_lost_row_of_a_conversation_is_made_from_its_events(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    edit(directory, "DELETE FROM sessions WHERE num = 2")
    (directory / salvage.MARK).touch()
    store = reopen(directory)
    assert {row.id for row in store.sessions()} == set(log.sessions)
    assert whole_or_quarantined(store, log) == (3, 0)
    store.close()


def test_a_file_of_rubbish_is_refused_and_left_alone(log, tmp_path):
    directory = log.copy(tmp_path / "copy")
    path = directory / "thetis.db"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\x5a" * (len(content) - 4096))
    before = path.read_bytes()
    with pytest.raises(StoreError):
        reopen(directory)
    assert path.read_bytes() == before


def test_an_id_of_nobody_is_not_damage(store):
    with pytest.raises(UsageError):
        store.verify("f" * 16)
    store.create("f" * 16, started())
    assert store.verify("f" * 16).sound
