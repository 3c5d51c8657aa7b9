"""The kept fold: exactly what reading everything gives, or it is not used."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import StateChanged, User
from thetis_kernel.store import foldcache, folds
from thetis_kernel.store.store import Store

from tests.support.logs import bodies, events, started

logs = st.lists(bodies, max_size=25).map(lambda some: events(started(), *some))


@given(logs, st.integers(0, 26))
def test_what_was_kept_and_the_rest_are_the_whole(log, at):
    kept = foldcache.decoded(foldcache.encoded(folds.fold(log[:at]), "d"))
    assert kept is not None and kept.digest == "d"
    assert folds.fold(log[at:], kept.state) == folds.fold(log)


def test_other_code_or_damage_is_not_used(monkeypatch):
    raw = foldcache.encoded(folds.fold(events(started())), "d")
    assert foldcache.decoded(raw) is not None
    assert foldcache.decoded(raw[:-3]) is None and foldcache.decoded(b"") is None and foldcache.decoded(None) is None
    monkeypatch.setattr(foldcache, "code", lambda: "other")
    assert foldcache.decoded(raw) is None


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(foldcache, "EVERY", 10)
    opened = Store.open(tmp_path)
    yield opened
    opened.close()


def grown(store: Store, count: int) -> str:
    session = "0123456789abcdef"
    store.create(session, started())
    for n in range(count):
        store.append(session, StateChanged("plan", f"k{n}", f'"{n}"')).result()
    return session


def test_a_long_conversation_is_kept_once_it_was_read(store, monkeypatch):
    session = grown(store, 30)
    whole = store.state(session)
    read: list[int] = []
    feed = folds.feed
    monkeypatch.setattr(folds, "feed", lambda state, seq, *rest: (read.append(seq), feed(state, seq, *rest))[1])
    assert store.state(session) == whole and read == []
    store.append(session, User(text="more")).result()
    assert store.state(session).last_user_text == "more" and read == [32]


def test_a_kept_fold_of_other_events_is_not_used(store):
    session = grown(store, 30)
    whole = store.state(session)
    kept = foldcache.decoded(store.kv_get(session, foldcache.KEY))
    assert kept is not None
    other = folds.SessionState(seq=kept.state.seq, mode="agent", title="forged")
    forged = msgspec.structs.replace(kept, digest="0" * 64, state=other)
    store.keep_fold(session, msgspec.msgpack.encode(forged))
    assert store.state(session) == whole


def test_it_goes_with_its_conversation(store):
    session = grown(store, 30)
    store.state(session)
    store.delete(session)
    assert store.kv_get(session, foldcache.KEY) is None
