"""Files that are missing, foreign or old (D12): said at open or at the next append, never taken for a fresh start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import User
from thetis_kernel.store import admission, opening
from thetis_kernel.store.store import Store

from tests.support.logs import new, say


def reopen(directory: Path, **options: bool) -> Store:
    return Store.open(directory, free=lambda: 0, **options)


def crashed(store: Store, target: Path) -> Path:
    """The files as a kill at this moment would leave them."""
    shutil.copytree(store.data_dir, target)
    return target


def refused(directory: Path) -> StoreError:
    """Opening it is refused, twice alike, and changes nothing."""
    scratch = ("kernel.lock", "thetis.db-shm")
    before = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file() and path.name not in scratch}
    for _attempt in range(2):
        with pytest.raises(StoreError) as caught:
            reopen(directory)
    after = {name: (directory / name).read_bytes() for name in before}
    assert after == before
    return caught.value


@pytest.fixture
def log(store: Store) -> Store:
    session = new(store)
    say(store, session, *(f"word{i}" for i in range(30)))
    return store


def test_a_crash_alone_is_no_reason(log, tmp_path):
    again = reopen(crashed(log, tmp_path / "crash"))
    assert again.notices == [] and again.sessions() == log.sessions()
    again.close()


@pytest.mark.parametrize("names", [["-wal"], ["-wal", "-shm"]])
def test_a_missing_write_ahead_log(log, tmp_path, names):
    crash = crashed(log, tmp_path / "crash")
    for name in names:
        (crash / f"thetis.db{name}").unlink()
    assert "thetis.db-wal is missing" in refused(crash).message


@pytest.mark.parametrize("content", [b"", b"\0" * 100_000, b"x" * 10])
def test_a_write_ahead_log_that_is_none(log, tmp_path, content):
    crash = crashed(log, tmp_path / "crash")
    (crash / "thetis.db-wal").write_bytes(content)
    assert refused(crash).code == "store-missing"


def test_a_missing_index_of_the_write_ahead_log_is_made_again(log, tmp_path):
    crash = crashed(log, tmp_path / "crash")
    (crash / "thetis.db-shm").unlink()
    again = reopen(crash)
    assert again.sessions() == log.sessions()
    again.close()


def test_a_database_copied_alone_from_a_live_log(log, tmp_path):
    (tmp_path / "copy").mkdir()
    shutil.copy(log.data_dir / "thetis.db", tmp_path / "copy")
    assert refused(tmp_path / "copy").code == "store-missing"


def test_a_database_copied_alone_from_a_closed_log_is_whole(log, tmp_path):
    rows = log.sessions()
    log.close()
    (tmp_path / "copy").mkdir()
    shutil.copy(log.data_dir / "thetis.db", tmp_path / "copy")
    again = reopen(tmp_path / "copy")
    assert again.sessions() == rows
    again.close()


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_missing_or_empty_database(log, tmp_path, spoil: Callable[[Path], object]):
    log.close()
    spoil(log.data_dir / "thetis.db")
    assert "has a log" in refused(log.data_dir).message


def test_a_missing_database_with_its_write_ahead_log(log, tmp_path):
    crash = crashed(log, tmp_path / "crash")
    (crash / "thetis.db").unlink()
    (crash / admission.RECORD).unlink()
    assert refused(crash).code == "store-missing"


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0"])
def test_a_file_that_is_no_database(log, content):
    log.close()
    (log.data_dir / "thetis.db").write_bytes(content)
    assert "is not a database any more" in refused(log.data_dir).message


def test_another_roots_database(log, tmp_path):
    log.close()
    other = reopen(tmp_path / "other")
    new(other)
    other.close()
    shutil.copy(tmp_path / "other" / "thetis.db", log.data_dir)
    assert "was replaced" in refused(log.data_dir).message


def test_an_older_copy(log):
    session = log.sessions()[0].id
    log.close()
    shutil.copy(log.data_dir / "thetis.db", log.data_dir / "older")
    newer = reopen(log.data_dir)
    say(newer, session, "more")
    newer.close()
    (log.data_dir / "older").replace(log.data_dir / "thetis.db")
    assert "is older than" in refused(log.data_dir).message


def test_deleting_the_newest_conversation_does_not_look_like_an_older_copy(log):
    log.delete(log.sessions()[0].id)
    log.close()
    reopen(log.data_dir).close()


@pytest.mark.parametrize("mark", [0, 7])
def test_somebody_elses_database(tmp_path, mark):
    db = apsw.Connection(str(tmp_path / "thetis.db"))
    db.execute("CREATE TABLE notes(text)")
    db.pragma("application_id", mark)
    db.close()
    assert "something else" in refused(tmp_path).message
    check = apsw.Connection(str(tmp_path / "thetis.db"))
    assert [name for (name,) in check.execute("SELECT name FROM sqlite_schema")] == ["notes"]


def test_an_unreadable_record_is_damage(log):
    log.close()
    (log.data_dir / admission.RECORD).write_bytes(b"{")
    with pytest.raises(StoreError) as caught:
        reopen(log.data_dir)
    assert caught.value.code == "store-record"


@pytest.mark.parametrize("by", ["option", "file"])
def test_a_person_may_decide_to_go_on_with_what_is_there(log, tmp_path, by):
    crash = crashed(log, tmp_path / "crash")
    (crash / "thetis.db-wal").unlink()
    assert str(crash / opening.ADOPT) in refused(crash).hint
    if by == "file":
        (crash / opening.ADOPT).touch()
    again = reopen(crash, adopt=by == "option")
    assert not (crash / opening.ADOPT).exists()
    assert len(again.notices) == 1 and "is missing" in again.notices[0]
    session = new(again)
    say(again, session, "a new beginning")
    again.close()
    normal = reopen(crash)
    assert normal.notices == [] and normal.last_seq(session) == 2
    normal.close()


@pytest.mark.parametrize("name", ["thetis.db", "thetis.db-wal"])
@pytest.mark.parametrize("how", ["replaced", "removed", "moved"])
def test_files_replaced_under_the_running_kernel(log, tmp_path, name, how):
    path = log.data_dir / name
    session = log.sessions()[0].id
    if how == "replaced":
        shutil.copy(path, tmp_path / "copy")
        (tmp_path / "copy").replace(path)
    elif how == "removed":
        path.unlink()
    else:
        path.rename(tmp_path / "away")
    for text in ("first", "second"):
        with pytest.raises(StoreError) as caught:
            log.append(session, User(text=text)).result(10)
        assert caught.value.code == "store-replaced"


def test_other_files_may_come_and_go(log):
    session = log.sessions()[0].id
    (log.data_dir / "stranger").write_text("hello")
    say(log, session, "fine")
    (log.data_dir / "stranger").unlink()
    say(log, session, "fine")


def test_a_close_that_cannot_finish_is_recovered_from(log, monkeypatch):
    monkeypatch.setattr(opening, "CLEAN", "not a number")
    rows = log.sessions()
    log.close()
    again = reopen(log.data_dir)
    assert again.sessions() == rows
    again.close()


def test_nothing_of_it_is_for_others(log):
    for path in (log.data_dir, *log.data_dir.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path
    assert {path.name for path in log.data_dir.iterdir()} >= {"thetis.db", "thetis.db-wal", "thetis.db-shm", "kernel.lock"}


def test_a_loose_directory_is_tightened(tmp_path):
    (tmp_path / "data").mkdir(mode=0o755)
    os.chmod(tmp_path / "data", 0o755)
    reopen(tmp_path / "data").close()
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
