"""One contract, two logs: the SQLite store and the model in memory. Everything said here holds for both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.clock import FakeClock
from thetis_kernel.errors import LeaseLost, Refused, StoreError, UsageError
from thetis_kernel.protocol.events import (
    Assistant,
    BlobRef,
    Compaction,
    Rewind,
    SettingChanged,
    TurnFinished,
    TurnStarted,
    Unknown,
    User,
)
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store.store import Store

from tests.support.logs import call, new, reply, result, say, started
from tests.support.memory_store import MemoryStore

AnyStore = Store | MemoryStore


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    clock = FakeClock()
    opened: AnyStore = Store.open(tmp_path / "data", clock=clock) if request.param == "sqlite" else MemoryStore(clock)
    yield opened
    opened.close()


def test_a_conversation_starts_with_its_first_event(store):
    session = new_session_id()
    event = store.create(session, started(mode="plan"))
    assert (event.seq, event.kind, event.session) == (1, "session-started", session)
    assert store.read(session) == [event]
    assert store.session(session).mode == "plan"


def test_starting_twice_is_one_start(store):
    session = new_session_id()
    assert store.create(session, started()) == store.create(session, started())
    assert store.last_seq(session) == 1


def test_a_short_id_is_taken_once(store):
    session = new(store)
    with pytest.raises(UsageError) as caught:
        store.create(session[:8] + "00000000", started())
    assert caught.value.code == "id-taken"


@pytest.mark.parametrize("bad", ["", "x" * 16, "../../etc/passwd", "0123", "0123456789ABCDEF", "0123456789abcde\n"])
def test_an_id_that_is_none_is_refused(store, bad):
    with pytest.raises(UsageError):
        store.create(bad, started())


def test_events_are_numbered_from_one_without_gaps(store):
    session = new(store)
    say(store, session, "a", "b", "c")
    assert [event.seq for event in store.read(session)] == [1, 2, 3, 4]


def test_an_event_id_appended_twice_is_one_event(store):
    session = new(store)
    first = store.append(session, User(text="a"), event_id="e1").result()
    assert store.append(session, User(text="a"), event_id="e1").result() == first
    assert store.last_seq(session) == 2
    assert store.find_event("e1") == first
    assert store.find_event("e2") is None


def test_an_event_id_inside_one_group_is_one_event(store):
    session = new(store)
    events = store.append_many(session, [(User(text="a"), "e1"), (User(text="a"), "e1"), User(text="b")]).result()
    assert [event.seq for event in events] == [2, 2, 3]


def test_a_retried_group_is_the_old_group(store):
    session = new(store)
    group = [(User(text="a"), "e1"), (User(text="b"), "e2")]
    assert store.append_many(session, group).result() == store.append_many(session, group).result()
    assert store.last_seq(session) == 3


def test_an_event_id_of_another_conversation_is_refused(store):
    one, other = new(store), new(store)
    store.append(one, User(text="a"), event_id="e1").result()
    with pytest.raises(StoreError) as caught:
        store.append(other, User(text="a"), event_id="e1").result()
    assert caught.value.code == "event-id-reused"
    assert store.last_seq(other) == 1


def test_a_group_is_all_or_nothing(store):
    session = new(store)
    with pytest.raises(UsageError):
        store.append_many(session, [User(text="a"), started()]).result()
    assert store.last_seq(session) == 1


def test_a_conversation_cannot_start_again_by_append(store):
    with pytest.raises(UsageError):
        store.append(new(store), started()).result()


def test_appending_to_nothing_is_refused(store):
    with pytest.raises(UsageError) as caught:
        store.append("f" * 16, User(text="a")).result()
    assert caught.value.code == "no-session"


def test_an_expected_number_is_kept_or_refused(store):
    session = new(store)
    assert store.append(session, User(text="a"), expected_seq=2).result().seq == 2
    with pytest.raises(StoreError) as caught:
        store.append(session, User(text="b"), expected_seq=2).result()
    assert caught.value.code == "seq-conflict"
    assert store.last_seq(session) == 2


def test_a_retry_is_answered_although_its_expected_number_has_passed(store):
    session = new(store)
    first = store.append(session, User(text="a"), event_id="e1", expected_seq=2).result()
    say(store, session, "b")
    assert store.append(session, User(text="a"), event_id="e1", expected_seq=2).result() == first


def test_an_old_lease_is_fenced(store):
    session = new(store)
    old = store.take_lease(session)
    assert store.append(session, User(text="a"), lease=old).result().seq == 2
    newer = store.take_lease(session)
    assert newer == old + 1 == store.lease_epoch(session)
    with pytest.raises(LeaseLost):
        store.append(session, User(text="b"), lease=old).result()
    assert store.append(session, User(text="c"), lease=newer).result().seq == 3
    assert store.append(session, User(text="without one"), lease=None).result().seq == 4


@pytest.mark.parametrize("bad", [" ", "a b", "ä", "x" * 97, "\0", "-a"])
def test_a_strange_event_id_is_refused(store, bad):
    session = new(store)
    with pytest.raises(StoreError):
        store.append(session, User(text="a"), event_id=bad).result()
    assert store.last_seq(session) == 1


def test_an_unknown_kind_keeps_its_bytes(store):
    session = new(store)
    raw = b'{"kind":"from-the-future","n":  1 , "x": [ ] }'
    store.append(session, Unknown("from-the-future", raw)).result()
    event = store.read(session)[-1]
    assert (event.kind, event.raw, event.body) == ("from-the-future", raw, Unknown("from-the-future", raw))
    assert store.read_projected(session)[0][-1] == event
    assert store.state(session).seq == 2


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"a":"\xed\xa0\x80"}', b'{"a":"\\ud800"}', b'{"a":NaN}'])
def test_an_unknown_kind_must_at_least_be_a_json_object(store, raw):
    session = new(store)
    with pytest.raises(StoreError) as caught:
        store.append(session, Unknown("strange", raw)).result()
    assert caught.value.code == "body-invalid"


def test_pages_are_bounded_and_fit_together(store):
    session = new(store)
    say(store, session, *("x" * 300 for _ in range(30)))
    got, after, pages = [], 0, 0
    while page := store.read(session, after=after, limit=7, max_bytes=1500):
        assert len(page) <= 7
        assert sum(len(event.raw) for event in page) <= 1500 or len(page) == 1
        got += page
        after = page[-1].seq
        pages += 1
    assert got == store.read(session) and pages > 5


def test_one_event_larger_than_a_page_is_a_page(store):
    session = new(store)
    say(store, session, "x" * 5000, "y")
    assert [event.seq for event in store.read(session, after=1, max_bytes=10)] == [2]


def test_reading_past_the_end_is_empty(store):
    assert store.read(new(store), after=99) == []


def test_the_list_shows_the_last_used_first(store):
    one, other = new(store), new(store)
    assert [row.id for row in store.sessions()] == [other, one]
    store._clock.advance(1)
    say(store, one, "hello")
    assert [row.id for row in store.sessions()] == [one, other]


def test_a_row_is_the_fold_of_its_events(store):
    session = new(store)
    say(store, session, "please fix the parser")
    store.append(session, TurnStarted("t1", "agent", "m")).result()
    store.append(session, reply("done")).result()
    assert store.session(session).state == store.state(session).state == "running"
    assert store.session(session).open_turn == "t1"
    store.append(session, TurnFinished("t1", "restarted")).result()
    row, state = store.session(session), store.state(session)
    assert row.state == state.state == "interrupted" and row.interrupted
    for name, value in (("title", "parser"), ("mode", "plan"), ("model", "other"), ("archived", "true")):
        store.append(session, SettingChanged(name, value)).result()
    row, state = store.session(session), store.state(session)
    for field in ("title", "mode", "model", "archived", "preview", "turns"):
        assert getattr(row, field) == getattr(state, field)
    assert (row.title, row.mode, row.model, row.archived, row.preview) == ("parser", "plan", "other", True, "done")


def test_the_mode_of_a_discord_conversation_is_fixed(store):
    session = new(store, origin="discord", mode="read")
    with pytest.raises(Refused):
        store.append(session, SettingChanged("mode", "agent")).result()
    store.append(session, SettingChanged("title", "fine")).result()
    assert store.session(session).mode == "read"


def test_a_prefix_finds_one_conversation(store):
    session = new(store)
    assert store.session(session[:4]).id == store.session(session[:8].upper()).id == session


@pytest.mark.parametrize("bad", ["", "abc", "zzzz", "0000 or 1=1", "%%%%", "0" * 17])
def test_a_prefix_that_is_none_is_a_sentence(store, bad):
    with pytest.raises(UsageError):
        store.session(bad)


def test_an_ambiguous_prefix_names_the_candidates(store):
    for tail in ("0000", "1111"):
        store.create("abcd" + tail + "00000000", started())
    with pytest.raises(UsageError) as caught:
        store.session("abcd")
    assert caught.value.code == "ambiguous"


def test_a_fork_reads_its_parents_beginning_and_counts_on(store):
    parent = new(store)
    say(store, parent, "one", "two", "three")
    fork = new(store, parent=parent, parent_seq=3, relation="fork")
    say(store, fork, "other")
    say(store, parent, "four")
    assert [event.seq for event in store.read(fork)] == [4, 5]
    line = list(store.iterate(fork))
    assert line[:3] == store.read(parent)[:3]
    assert [event.seq for event in line] == [1, 2, 3, 4, 5]
    assert [event.seq for event in store.read_projected(fork)[0]] == [1, 2, 3, 4, 5]
    assert store.state(fork).last_user_text == "other"
    assert store.session(fork).title == "one"
    assert store.last_seq(parent) == 5, "a fork never changes its source"


def test_a_fork_of_a_fork_inside_what_it_inherited(store):
    parent = new(store)
    say(store, parent, "one", "two", "three")
    fork = new(store, parent=parent, parent_seq=4, relation="fork")
    say(store, fork, "four")
    inner = new(store, parent=fork, parent_seq=2, relation="fork")
    assert [(e.session, e.seq) for e in store.iterate(inner)] == [(parent, 1), (parent, 2), (inner, 3)]
    beyond = new(store, parent=fork, parent_seq=6, relation="fork")
    assert [e.session for e in store.iterate(beyond)] == [parent] * 4 + [fork] * 2 + [beyond]


def test_a_fork_beyond_its_parents_end_is_refused(store):
    with pytest.raises(UsageError):
        new(store, parent=new(store), parent_seq=2, relation="fork")


def test_a_child_inherits_nothing(store):
    parent = new(store)
    say(store, parent, "one")
    child = new(store, parent=parent, parent_seq=2, relation="child")
    assert [event.seq for event in store.iterate(child)] == [1]
    assert store.state(child).last_user_text == ""


def test_a_fork_projects_the_live_branch_alone(store):
    parent = new(store)
    say(store, parent, "one", "abandoned")
    store.append(parent, Rewind(to_seq=2)).result()
    say(store, parent, "kept")
    fork = new(store, parent=parent, parent_seq=5, relation="fork")
    texts = [e.body.text for e in store.read_projected(fork)[0] if e.kind == "user"]
    assert texts == ["one", "kept"]


def test_a_rewind_can_go_back_to_an_abandoned_branch(store):
    session = new(store)
    say(store, session, "one", "first try")  # 2, 3
    store.append(session, Rewind(to_seq=2)).result()  # 4
    say(store, session, "second try")  # 5
    store.append(session, Rewind(to_seq=3)).result()  # 6
    assert [e.seq for e in store.read_projected(session)[0]] == [1, 2, 3, 6]


def test_a_compaction_stands_for_its_spans(store):
    session = new(store)
    say(store, session, *"abcdef")  # 2..7
    store.append(session, Compaction(spans=[(3, 4), (6, 6)], summary="s1")).result()  # 8
    assert [e.seq for e in store.read_projected(session)[0]] == [1, 2, 5, 7, 8]
    store.append(session, Compaction(spans=[(2, 5)], summary="s2")).result()  # 9: made from s1
    assert [e.seq for e in store.read_projected(session)[0]] == [1, 7, 9]
    assert len(store.read(session)) == 9, "the log itself is never edited"


def test_a_span_across_an_earlier_compaction_does_not_swallow_it(store):
    session = new(store)
    say(store, session, *"abcd")  # 2..5
    store.append(session, Compaction(spans=[(2, 3)], summary="s1")).result()  # 6
    say(store, session, "e")  # 7
    store.append(session, Compaction(spans=[(5, 7)], summary="s2")).result()  # 8
    assert [e.seq for e in store.read_projected(session)[0]] == [1, 4, 6, 8]


def test_a_rewind_takes_a_compaction_back(store):
    session = new(store)
    say(store, session, *"abc")  # 2..4
    store.append(session, Compaction(spans=[(2, 3)], summary="s")).result()  # 5
    store.append(session, Rewind(to_seq=4)).result()  # 6
    assert [e.seq for e in store.read_projected(session)[0]] == [1, 2, 3, 4, 6]


def test_the_projection_comes_in_pages(store):
    session = new(store)
    say(store, session, *(str(i) for i in range(20)))
    store.append(session, Compaction(spans=[(5, 15)], summary="s")).result()
    whole, end = store.read_projected(session)
    assert end
    got, after = [], 0
    while True:
        page, end = store.read_projected(session, after, limit=3)
        got += page
        if end:
            break
        assert len(page) == 3
        after = page[-1].seq
    assert got == whole
    assert store.read_projected(session, after=10_000) == ([], True)


def test_repairs_close_what_was_cut_and_then_there_are_none(store):
    session = new(store)
    store.append_many(session, [TurnStarted("t1", "agent", "m"), reply("", "c1", "c2", turn="t1"), call("c1", "t1")]).result()
    bodies = store.repairs(session)
    assert [type(body).__name__ for body in bodies] == ["ToolResult", "ToolResult", "SystemNote", "TurnFinished"]
    store.append_many(session, bodies).result()
    assert store.repairs(session) == []
    assert store.session(session).interrupted


def test_deleting_leaves_a_tombstone_and_nothing_else(store):
    session, other = new(store), new(store)
    say(store, session, "secret words")
    head = store.session(session).head
    store.kv_put(session, "k", b"v")
    gone = store.delete(session)
    assert (gone.session, gone.last_seq, gone.head) == (session, 2, head)
    assert store.tombstone(session) == gone and store.tombstone(other) is None
    assert [row.id for row in store.sessions()] == [other]
    assert store.search("secret") == [] and store.kv_get(session, "k") is None
    for attempt in (lambda: store.read(session), lambda: store.delete(session), lambda: store.create(session, started())):
        with pytest.raises(UsageError):
            attempt()
    with pytest.raises(UsageError):
        store.append(session, User(text="a")).result()


def test_deleting_takes_the_children_along_but_not_what_a_fork_needs(store):
    parent = new(store)
    child = new(store, parent=parent, relation="child")
    fork = new(store, parent=parent, parent_seq=1, relation="fork")
    with pytest.raises(UsageError) as caught:
        store.delete(parent)
    assert caught.value.code == "has-forks"
    assert {row.id for row in store.sessions()} == {parent, child, fork}
    store.delete(fork)
    store.delete(parent)
    assert store.sessions() == []
    assert store.tombstone(child) is not None


def test_cached_values(store):
    assert store.kv_get("s", "k") is None
    store.kv_put("s", "k", b"\x00\xff")
    store.kv_put("other", "k", b"2")
    assert store.kv_get("s", "k") == b"\x00\xff"
    store.kv_put("s", "k", None)
    assert store.kv_get("s", "k") is None and store.kv_get("other", "k") == b"2"


def test_search_finds_whole_words_and_the_last_one_begun(store):
    session, other = new(store), new(store)
    say(store, session, "Fix the PARSER in snake_case_name", "nothing here")
    say(store, other, "the parser again")
    assert [(h.session, h.seq) for h in store.search("parser")] == [(other, 2), (session, 2)]
    assert [h.session for h in store.search("parser", session=session)] == [session]
    assert [h.seq for h in store.search("fix pars")] == [2]
    assert store.search("pars fix") == []
    assert [h.seq for h in store.search("snake_case_na")] == [2]
    assert len(store.search("parser", limit=1)) == 1
    assert "PARSER" in store.search("fix the")[0].snippet


def test_search_sees_calls_and_results_and_accents(store):
    session = new(store)
    store.append_many(session, [reply("naïve Übung"), call("c1"), result("c1")]).result()
    assert [h.kind for h in store.search("naive ubung")] == ["assistant"]
    assert [h.kind for h in store.search("read path")] == ["tool-invocation"]
    assert [h.kind for h in store.search("content")] == ["tool-result"]


@pytest.mark.parametrize(
    "query",
    ['"', '"" OR *', "a AND", "NEAR(a b)", "text:a", "a* b*", "^a", "(", "-a", "{a}", "\0", "\ud800", "'; DROP TABLE x",
     "   ", "a" * 10_000, " ".join("abcd" for _ in range(500)), "*", "col : x", "a + b", "NOT"],
)  # fmt: skip
def test_no_query_raises(store, query):
    say(store, new(store), "a b c")
    store.search(query)
    store.search(query, limit=0)


def test_poison_is_made_safe_before_it_is_stored(store):
    session = new(store)
    deep: object = 1
    for _ in range(500):
        deep = [deep]
    poisoned = reply("lone \ud800 half").blocks
    poisoned[0]["more"] = {"nan": float("nan"), "inf": [float("inf")], "deep": deep, "k\udfff": "v"}
    store.append(session, Assistant(blocks=poisoned)).result()
    stored = store.read(session)[-1].body.blocks[0]
    assert stored["text"] == "lone \ufffd half"
    assert stored["more"]["nan"] is None and stored["more"]["inf"] == [None] and "k\ufffd" in stored["more"]


def test_a_reference_to_a_missing_blob_is_refused(tmp_path):
    with_blobs = Store.open(tmp_path / "data")
    session = new(with_blobs)
    missing = BlobRef("0" * 64, 3)
    with pytest.raises(StoreError) as caught:
        with_blobs.append(session, User(text="a", attachments=[missing])).result()
    assert caught.value.code == "blob-missing"
    there = with_blobs.blobs.put(b"abc", name="a.txt")
    assert with_blobs.append(session, User(text="", attachments=[there])).result().seq == 2
    assert with_blobs.session(session).title == "a.txt"
    with_blobs.close()


