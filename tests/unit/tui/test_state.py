"""The state is a fold over what the gateway tells."""

from __future__ import annotations

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import NOTICE, T0, FakeGateway, status
from thetis_tui.state import NEW, State
from thetis_tui.views import activity_of, entries_of, facts_of, hint_of, where_of


def state_of(gateway: FakeGateway, clock: list[float] | None = None) -> State:
    ticking = clock or [100.0]
    state = State(now=lambda: ticking[0], wall_ms=lambda: T0 + 3_600_000)
    state.status = gateway.status
    state.link = "ready"
    gateway.client.listen(state.hear)
    state.replace(list(gateway.lines.values()))
    return state


def test_a_turn_is_known_by_what_is_told() -> None:
    gateway, clock = FakeGateway(), [100.0]
    session = gateway.make("one", branch="conv/1")
    state = state_of(gateway, clock)
    state.opened(session)
    turn = gateway.begin(session)
    assert activity_of(state) is not None
    turn.delta("thinking", "hm")
    assert state.turns[session].doing == "thinking"
    turn.delta("text", "hello")
    assert state.turns[session].doing == "writing"
    turn.reply()
    turn.call("run", command="make test")
    assert state.turns[session].doing == "run make test"
    assert state.turns[session].calls == 1
    assert state.turns[session].tokens_in == 1200
    turn.delta("waiting", "overloaded (trying again in 3 s)")
    assert state.turns[session].doing.startswith("overloaded")
    clock[0] += 7
    assert state.now() - state.turns[session].started == 7
    turn.finish()
    assert activity_of(state) is None


def test_a_conversation_that_ended_elsewhere_is_unread_until_opened() -> None:
    gateway = FakeGateway()
    one, two = gateway.make("one"), gateway.make("two")
    state = state_of(gateway)
    state.opened(two)
    turn = gateway.begin(one)
    assert one not in state.unread
    turn.finish()
    assert one in state.unread
    state.opened(one)
    assert one not in state.unread


def test_the_list_is_newest_first_without_archived_ones() -> None:
    gateway = FakeGateway()
    old, new, gone = gateway.make("old"), gateway.make("new"), gateway.make("gone", archived=True)
    state = state_of(gateway)
    assert [entry.session for entry in entries_of(state)] == [new, old]
    state.opened(gone)
    assert gone in [entry.session for entry in entries_of(state)]


def test_the_whole_list_replaces_what_was_known() -> None:
    gateway = FakeGateway()
    one, two = gateway.make("one"), gateway.make("two", state="running")
    state = state_of(gateway)
    assert two in state.turns
    state.replace([gateway.lines[one]])
    assert list(state.conversations) == [one]
    assert state.turns == {}


def test_modes_go_round_and_an_unknown_one_counts_as_read_only() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", mode="strange")
    state = state_of(gateway)
    mode = state.mode()
    assert mode is not None
    assert mode.id == "agent"
    after = state.next_mode()
    assert after is not None
    assert after.id == "plan"
    state.opened(session)
    strange = state.mode()
    assert strange is not None
    assert strange.read_only
    assert state.view().read_only


def test_changes_can_be_included_only_before_there_is_a_branch() -> None:
    gateway = FakeGateway(uncommitted=2)
    fresh, begun = gateway.make("fresh"), gateway.make("begun", branch="conv/x")
    state = state_of(gateway)
    assert state.may_include_changes()
    state.opened(fresh)
    assert state.may_include_changes()
    state.opened(begun)
    assert not state.may_include_changes()
    state.opened(NEW)
    state.status = status(uncommitted=0)
    assert not state.may_include_changes()


def test_progress_ends_when_it_is_done() -> None:
    state = State()
    state.hear(c.Progress(what="Building", done=1, total=4))
    assert "Building" in state.progress
    state.hear(c.Progress(what="Building", done=4, total=4))
    assert state.progress == {}
    state.hear(c.Progress(what="Looking", done=0, total=0))
    assert "Looking" in state.progress


def test_a_turn_that_ran_before_the_screen_opened_counts_from_its_start() -> None:
    gateway = FakeGateway()
    session = gateway.make("one", state="running")
    event = gateway.store(session, e.TurnStarted("t", "agent", "m"))
    gateway.store(session, e.User("said before"))
    state = state_of(gateway, [1000.0])
    state.wall_ms = lambda: event.ts_ms + 42_000
    state.recall(gateway.logs[session])
    assert state.now() - state.turns[session].started == 42
    assert state.history.older("") == "said before"


def test_what_is_shown_is_one_safe_line() -> None:
    gateway = FakeGateway(root="/tmp/\x1b[31mred", trunk="ma\nin")
    session = gateway.make("ti\x07tle\nwith [b]lines[/b]", branch="conv/\u202ex", state="interrupted")
    state = state_of(gateway)
    state.opened(session)
    texts = [
        *where_of(state), hint_of(state), facts_of(state).root, facts_of(state).trunk, state.view().branch,
        *(entry.title for entry in entries_of(state)),
    ]
    for text in texts:
        assert not any(mark in text for mark in "\x1b\x07\n\u202e")
    assert "[b]lines[/b]" in where_of(state)[0]
    assert hint_of(state) == "enter resumes"
    assert facts_of(state).notice == NOTICE
