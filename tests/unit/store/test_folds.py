"""The fold: a state is nothing but its events, taken one after another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import (
    Answer,
    Approval,
    Assistant,
    BlobRef,
    BranchOp,
    ChildSettled,
    ChildStarted,
    Event,
    Nudge,
    Question,
    Rewind,
    SettingChanged,
    StateChanged,
    TurnFinished,
    TurnStarted,
    Unknown,
    Usage,
    User,
)
from thetis_kernel.store import folds
from thetis_kernel.store.summary import UNTITLED

from tests.support.logs import bodies, call, events, reply, result, started

logs = st.lists(bodies, max_size=25).map(lambda some: events(started(), *some))


@given(logs, st.integers(0, 26))
def test_a_prefix_and_the_rest_are_the_whole(log, at):
    state = folds.fold(log[:at])
    for event in log[at:]:
        state = folds.apply(state, event)
    assert state == folds.fold(log)


def test_a_new_conversation():
    state = folds.fold(events(started(mode="plan", model="big", root="/x")))
    assert (state.mode, state.model, state.state, state.started.root) == ("plan", "big", "idle", "/x")
    assert state.title == "" and UNTITLED


def test_the_last_setting_wins_and_survives_everything():
    state = folds.fold(events(
        started(), User(text="first words"), SettingChanged("title", "mine"), SettingChanged("model", "b"),
        User(text="x" * 100_000), Rewind(to_seq=1), SettingChanged("archived", "true"),
    ))  # fmt: skip
    assert (state.title, state.model, state.archived) == ("mine", "b", True)


def test_the_first_words_are_the_title_until_it_is_given():
    assert folds.fold(events(started(), User(text="fix the parser"), User(text="and more"))).title == "fix the parser"
    assert folds.fold(events(started(), User(text="", attachments=[BlobRef("0" * 64, 1, name="a.png")]))).title == "a.png"


def test_a_turn_opens_runs_and_ends():
    log = [started(), TurnStarted("t", "agent", "m"), reply("hm", "c1", turn="t"), call("c1", "t")]
    state = folds.fold(events(*log))
    assert state.state == "running" and state.turn.turn == "t" and list(state.unanswered) == ["c1"]
    assert (state.turn_tool_calls, state.turn_usage, state.stats.iterations) == (1, Usage(10, 2), 1)
    state = folds.fold(events(*log, result("c1"), reply("done", turn="t"), TurnFinished("t", "stop")))
    assert state.state == "idle" and state.unanswered == {} and state.turn is None
    assert state.turn_usage == Usage(20, 4) and state.preview == "done" and state.turns == 1
    assert state.last_finished.stopped_by == "stop"


def test_statistics_begin_anew_with_a_turn():
    log = [started(), TurnStarted("t", "a", "m"), reply("x"), TurnFinished("t", "stop"), TurnStarted("u", "a", "m", 1)]
    state = folds.fold(events(*log))
    assert (state.stats.turn, state.stats.iterations, state.turns, state.last_started.attempt) == ("u", 0, 1, 1)


def test_an_interrupted_turn_is_so_until_somebody_goes_on():
    log = [started(), TurnStarted("t", "a", "m"), TurnFinished("t", "restarted")]
    assert folds.fold(events(*log)).state == "interrupted"
    assert folds.fold(events(*log, TurnStarted("t", "a", "m", 1), TurnFinished("t", "stop"))).state == "idle"
    assert folds.fold(events(*log, TurnStarted("t", "a", "m", 1))).state == "running"


def test_words_wait_until_a_turn_is_begun_for_them():
    log = [started(), User(text="one")]
    assert (folds.fold(events(*log)).state, folds.fold(events(*log)).waiting) == ("interrupted", 2)
    log += [TurnStarted("t", "a", "m")]
    assert (folds.fold(events(*log)).state, folds.fold(events(*log)).waiting) == ("running", 0)
    log += [TurnFinished("t", "stop"), User(text="two")]
    assert (folds.fold(events(*log)).state, folds.fold(events(*log)).waiting) == ("interrupted", 5)


def test_values_are_set_replaced_and_removed():
    state = folds.fold(events(
        started(), StateChanged("plan", "body", '"p"'), StateChanged("todos", "list", "[]"), StateChanged("notes", "a", "1"),
        StateChanged("notes", "b", "2"), StateChanged("notes", "a", ""), StateChanged("groups", "g", "true"),
        StateChanged("kv:tool", "k", "3"), StateChanged("kv:other", "k", "4"), StateChanged("notes", "never", ""),
    ))  # fmt: skip
    assert (state.plan, state.todos, state.notes) == ({"body": '"p"'}, {"list": "[]"}, {"b": "2"})
    assert (state.groups, state.kv("tool"), state.kv("other"), state.kv("none")) == ({"g": "true"}, {"k": "3"}, {"k": "4"}, {})


def test_values_go_back_with_a_rewind_and_forth_with_another():
    log = [started(), StateChanged("plan", "p", "1"), StateChanged("plan", "p", "2"), StateChanged("kv:t", "k", "1"),
           Rewind(to_seq=2)]  # fmt: skip
    assert folds.fold(events(*log)).plan == {"p": "1"}
    assert folds.fold(events(*log)).kv("t") == {"k": "1"}, "a guest's own store is not the conversation"
    kept = [started(), StateChanged("kv:t", "k", "1"), StateChanged("kv:t", "k", "2"), Rewind(to_seq=2)]
    assert folds.fold(events(*kept)).kv("t") == {"k": "2"}
    assert folds.fold(events(*log, StateChanged("plan", "p", "3"), Rewind(to_seq=3))).plan == {"p": "2"}


def test_the_branch_is_what_last_succeeded():
    state = folds.fold(events(
        started(), BranchOp("materialised", False), BranchOp("materialised", True, after="a"),
        BranchOp("commit", True, after="b"),
        BranchOp("merge", False, after="c"),
    ))  # fmt: skip
    assert state.materialised.after == "a" and state.branch.after == "b"
    assert folds.fold(events(started(), BranchOp("materialised", False))).materialised is None


def test_what_waits_for_a_person():
    ask = [started(), Approval("a", "exec", "rm"), Question("q", [{"question": "?"}])]
    state = folds.fold(events(*ask))
    assert list(state.approvals) == ["a"] and list(state.questions) == ["q"]
    assert folds.fold(events(*ask, Approval("a", "exec", "rm", "deny"), Answer("q", []))).approvals == {}
    assert list(folds.fold(events(*ask, TurnFinished("t", "restarted"))).approvals) == ["a"], "a restart forgets no request"
    assert folds.fold(events(*ask, TurnFinished("t", "cancelled"))).approvals == {}
    assert folds.fold(events(*ask, User("do something else"))).approvals == {}
    assert list(folds.fold(events(*ask, TurnFinished("t", "asked"))).questions) == ["q"]
    assert folds.fold(events(*ask, User(text="something else"))).questions == {}


def test_what_a_person_allowed():
    ask = Approval("a", "exec", "rm", effect="e")
    answered = [started(), ask, Approval("a", "exec", "rm", "allow-once", effect="e")]
    assert folds.fold(events(*answered)).granted == {"e": "a"}, "nothing waited: it is kept for the next try"
    assert folds.fold(events(*answered, Approval("a", "exec", "rm", "used", effect="e"))).granted == {}
    live = Approval("a", "exec", "rm", "allow-once", effect="e", live=True)
    assert folds.fold(events(started(), ask, live)).granted == {}, "the call that waited has had it"
    session = [started(), ask, Approval("a", "exec", "rm", "allow-session", patterns=["rm x", "ls *"])]
    assert folds.fold(events(*session)).grants == [("exec", "rm x"), ("exec", "ls *")]
    assert folds.fold(events(*session, started(relation="fork"))).grants == [], "a fork is another conversation"


def test_children_until_they_settle():
    log = [started(), ChildStarted("c1", "l", "t"), ChildStarted("c2", "l", "t"), ChildSettled("c1", "done", "r")]
    assert list(folds.fold(events(*log)).children) == ["c2"]


def test_unread_nudges_are_a_persons_after_the_last_reply():
    log = [started(), Nudge("a"), Nudge("b", source="system"), Nudge("c")]
    assert folds.fold(events(*log)).unread_nudges == 2
    assert folds.fold(events(*log, reply("seen"))).unread_nudges == 0


def test_a_fork_starts_afresh_where_its_parent_is_concerned():
    log = [started(), BranchOp("materialised", True), StateChanged("notes", "a", "1"), ChildStarted("c", "l", "t"),
           Approval("a", "c", "w"), SettingChanged("archived", "true"), SettingChanged("network", "true"),
           started(mode="plan", relation="fork")]  # fmt: skip
    state = folds.fold(events(*log))
    assert state.materialised is None and state.children == {} and state.approvals == {}
    assert not state.archived and not state.network
    assert state.notes == {"a": "1"} and state.mode == "plan"


def test_the_unknown_and_the_unreadable_change_nothing():
    log = [*events(started(), User(text="hello")),
           Event("0" * 16, 3, "x", 0, "from-the-future", 9, b"{}"),
           Event("0" * 16, 4, "y", 0, "user", 1, b'{"kind":"user"}')]  # fmt: skip
    state = folds.fold(log)
    assert (state.seq, state.last_user_text, state.skipped) == (4, "hello", 1)
    assert folds.fold(events(Unknown("new", b"{}"))).skipped == 0


def test_a_reply_without_text_keeps_what_was_said():
    assert folds.fold(events(started(), User(text="hi"), Assistant(blocks=[{"type": "tool_use", "id": "c"}]))).preview == "hi"
