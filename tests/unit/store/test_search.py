"""The search index: always complete, never in the way, made again from the log whenever it must be."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import (
    Answer,
    Compaction,
    Nudge,
    Question,
    StateChanged,
    SystemNote,
    ToolInvocation,
    ToolResult,
    User,
    encode_body,
    kind_of,
)
from thetis_kernel.store import search
from thetis_kernel.store.store import Store

from tests.support.logs import new, say


def indexed(store: Store) -> int:
    with store._reader.snapshot() as db:
        return search.indexed_gid(db)


def spoil(store: Store, *statements: str) -> None:
    """Damage the index's own tables, which SQLite guards against ordinary statements."""
    db = store._opened.connection

    def work() -> None:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        for statement in statements:
            db.execute(statement)

    store._writer.call(work).result(10)


def test_every_event_is_found_at_once_wherever_the_index_stands(store):
    session = new(store)
    for i in range(search.BEHIND * 2 + 5):
        say(store, session, f"needle{i} hay")
        assert store.search(f"needle{i}")[0].seq == i + 2
    assert len(store.search("hay", limit=1000)) == search.BEHIND * 2 + 5
    assert search.BEHIND <= indexed(store) <= search.BEHIND * 2 + 6


def test_the_newest_come_first_across_index_and_tail(store):
    session = new(store)
    say(store, session, *("hay" for _ in range(search.BEHIND + 10)))
    found = [hit.seq for hit in store.search("hay", limit=30)]
    assert found == sorted(found, reverse=True) and len(found) == 30


def test_an_index_far_behind_catches_up_in_batches(store, monkeypatch):
    session = new(store)
    monkeypatch.setattr(search, "BATCH", 100)
    monkeypatch.setattr(search, "BEHIND", 10_000)
    store.append_many(session, [User(text=f"hay{i}") for i in range(350)]).result(20)
    assert indexed(store) == 0 and len(store.search("hay", limit=1000)) == 350
    monkeypatch.setattr(search, "BEHIND", 64)
    seen = []
    for _ in range(4):
        say(store, session, "more")
        seen.append(indexed(store))
    assert seen == [100, 200, 300, 300] and len(store.search("hay", limit=1000)) == 350


@pytest.mark.parametrize("found_by", ["person", "append"])
def test_a_broken_index_is_made_again_and_stops_nothing(store, found_by):
    session = new(store)
    say(store, session, *(f"hay{i}" for i in range(search.BEHIND * 2)))
    spoil(store, "UPDATE search_data SET block = x'00ff00ff'")
    if found_by == "person":
        store.reindex()
        assert len(store.search("hay", limit=1000)) == search.BEHIND * 2
    say(store, session, *(f"straw{i}" for i in range(search.BEHIND * 2)))
    assert indexed(store) > 0
    assert len(store.search("hay", limit=1000)) == search.BEHIND * 2
    assert len(store.search("straw", limit=1000)) == search.BEHIND * 2


def test_a_search_that_meets_a_broken_index_reads_the_log(store, monkeypatch):
    session = new(store)
    say(store, session, *(f"hay{i}" for i in range(search.BEHIND * 2)))

    def broken(*_args):
        raise apsw.CorruptError("injected")

    with monkeypatch.context() as patch:
        patch.setattr(search, "_indexed", broken)
        assert len(store.search("hay", limit=1000)) == search.BEHIND * 2
    store.kv_put("wait", "for the rebuilding", b"")
    assert indexed(store) > 0 and len(store.search("hay", limit=1000)) == search.BEHIND * 2


def test_a_broken_index_does_not_keep_a_conversation_from_going(store):
    session = new(store)
    say(store, session, *(f"hay{i}" for i in range(search.BEHIND * 2)))
    spoil(store, "DELETE FROM search_docsize", "UPDATE search_data SET block = x'00'")
    store.delete(session)
    assert store.search("hay") == [] and store.sessions() == []


def test_nothing_of_a_deleted_conversation_stays_in_the_index(store, tmp_path):
    session, other = new(store), new(store)
    say(store, other, *(f"plain{i}" for i in range(100)))
    say(store, session, *(f"unmentionable{i}" for i in range(200)))
    store.append(session, ToolResult("c", "ok", "unmentionable result")).result(10)
    store.delete(session)
    assert store.search("unmentionable") == []
    say(store, other, "later")
    for _ in range(50):
        store.kv_put("wait", "for the purge", b"")
    assert len(store.search("plain", limit=1000)) == 100
    store.close()
    assert b"unmentionable" not in (tmp_path / "data" / "thetis.db").read_bytes()
    assert (tmp_path / "data" / "thetis.db-wal").stat().st_size == 0


def test_deleted_words_go_out_of_the_index_blocks(store):
    session, other = new(store), new(store)
    say(store, session, *(f"qqzz{i}" for i in range(300)))
    say(store, other, *(f"plain{i}" for i in range(300)))
    store.delete(session)
    for _ in range(50):
        store.kv_put("wait", "for the purge", b"")
    with store._reader.snapshot() as db:
        blocks = b"".join(block for (block,) in db.execute("SELECT block FROM search_data"))
    assert b"qqzz" not in blocks and b"plain" in blocks


def test_a_spilled_body_is_found_by_its_beginning(store):
    session = new(store)
    say(store, session, "needle " + "x " * 100_000 + "lost")
    assert [hit.seq for hit in store.search("needle")] == [2]
    assert store.search("lost") == []
    store.blobs.path(next(iter(store.blobs))).unlink()
    store.search("needle")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (Nudge("poke me"), "poke"),
        (SystemNote("take note"), "take note"),
        (ToolInvocation("c", "grep", {"pattern": "deep", "in": [{"a": "nested value"}]}, "files.search", False), "grep nested"),
        (ToolResult("c", "error", "no such file"), "such"),
        (Compaction([(1, 2)], "a summary"), "summary"),
        (Question("q", [{"question": "which colour"}], "intro words"), "intro which"),
        (Answer("q", [{"answer": "blue"}]), "blue"),
        (StateChanged("notes", "k", '"remembered thing"'), "remembered"),
    ],
)
def test_what_can_be_found(store, body, words):
    session = new(store)
    store.append(session, body).result(10)
    assert [hit.kind for hit in store.search(words)] == [kind_of(body)]


def test_what_cannot(store):
    session = new(store)
    store.append(session, StateChanged("kv:guest", "secret", '"hidden"')).result(10)
    assert store.search("hidden") == [] == store.search("secret")


@given(st.text(max_size=60), st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), max_size=3))
def test_snippets_are_one_short_line(text, words):
    line = search.snippet(text, words)
    assert "\n" not in line and len(line) <= 2 * 80 + 2


def test_a_snippet_shows_the_match():
    text = "a " * 500 + "the\nneedle\there " + "b " * 500
    assert "the needle here" in search.snippet(text, ["needle"])


def test_an_unreadable_body_has_no_words():
    assert search.text_of("user", b"{}") == "" and search.text_of("strange", b"{}") == ""
    assert search.text_of("user", encode_body(User(text="a\0b" + "x" * 100_000))).startswith("a bx")
