"""The settings a log needs (D13): read back, and a refusal to start when one is not as asked."""

from __future__ import annotations

import apsw
import pytest
from thetis_kernel.errors import StoreError, StoreFull
from thetis_kernel.store import connection
from thetis_kernel.store.store import Store


@pytest.mark.parametrize(
    ("version", "fine"), [("3.40.1", False), ("3.51.2", False), ("3.51.3", True), ("3.54.1", True), ("4.0", True)]
)
def test_an_old_sqlite_is_refused(tmp_path, monkeypatch, version, fine):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    if fine:
        Store.open(tmp_path / "data", free=lambda: 0).close()
        return
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "data")
    assert caught.value.code == "store-version" and version in caught.value.message
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", sorted(connection.PRAGMAS))
def test_a_setting_that_does_not_take_is_refused(tmp_path, monkeypatch, name):
    class Deaf(apsw.Connection):
        """A database that ignores one pragma, as one without WAL support does."""

        def pragma(self, asked, value=None, **options):
            if asked == name:
                return "something else"
            return super().pragma(asked, value, **options) if value is not None else super().pragma(asked, **options)

    monkeypatch.setattr(apsw, "Connection", Deaf)
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "data")
    assert caught.value.code == "store-setting" and name in caught.value.message


def test_the_settings_are_those_of_the_design(store):
    wanted = {"journal_mode": "wal", "synchronous": 2, "recursive_triggers": 1, "trusted_schema": 0, "cell_size_check": 1,
              "mmap_size": 0, "page_size": 4096}  # fmt: skip
    db = store._opened.connection
    assert store._writer.call(lambda: {name: db.pragma(name) for name in wanted}).result(10) == wanted
    assert store._writer.call(lambda: db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1)).result(10) == 1


def test_readers_cannot_write(store):
    with pytest.raises(StoreError), store._reader.snapshot() as db:
        db.execute("DELETE FROM meta")


def test_no_room_has_one_name_however_it_shows():
    assert isinstance(connection.failure(apsw.FullError("full"), "append"), StoreFull)
    assert isinstance(connection.failure(OSError(28, "No space left"), "append"), StoreFull)
    assert not isinstance(connection.failure(OSError(5, "I/O error"), "append"), StoreFull)
    assert connection.failure(apsw.CorruptError("bad"), "read").code == "store-corrupt"
