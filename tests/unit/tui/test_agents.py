"""Sub-agents on the screen: a line fits its width whatever stands in it, and their conversations stay out of the list."""

from __future__ import annotations

from decimal import Decimal

import pytest
from thetis_kernel.protocol.children import ChildLine
from thetis_kernel.protocol.client import Conversation, StateChanged

from thetis_tui.agents import agents_of, label_width, line
from thetis_tui.overview import cards_of
from thetis_tui.state import State
from thetis_tui.views import entries_of, placeholder_of, where_of

NASTY = "\x1b[31mred\x1b[0m\n[bold]x[/bold] 漢字 👩‍👩‍👧‍👦" * 4


def child(**fields: object) -> ChildLine:
    return ChildLine(**{"child": "c" * 16, "label": "reader", "state": "running", **fields})  # type: ignore[arg-type]


def conversation(identifier: str, **fields: object) -> Conversation:
    told = {"title": identifier, "mode": "agent", "model": "m", "state": "idle", "branch": "conv/x", "worktree": "",
            "created_ms": 1, "updated_ms": 1, "last_seq": 1, **fields}
    return Conversation(id=identifier, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [12, 24, 46, 80, 200])
@pytest.mark.parametrize("told", [
    child(), child(last=NASTY, label=NASTY, tokens=1_234_567, cost=Decimal("12.3456"), elapsed_ms=7_200_000),
    child(state="failed", detail=NASTY), child(state="done", tokens=5), child(stale=True),
    child(state="cancelled", detail="A person stopped it."),
])
def test_a_line_has_its_width_and_no_control_characters(width: int, told: ChildLine) -> None:
    agents = agents_of([told], 0.0)
    drawn = line(agents[0], width, 5.0, labels=min(label_width(agents), width // 3))
    assert drawn.cell_length <= max(width, 24)
    assert not any(ord(sign) < 32 or sign == "\x7f" for sign in drawn.plain)


def test_the_clock_of_one_at_work_runs_on_between_two_tellings() -> None:
    at_work, settled = agents_of([child(elapsed_ms=3000), child(state="done", elapsed_ms=3000)], 100.0)
    assert (at_work.passed(107.0), settled.passed(107.0)) == (10.0, 3.0)


def test_118_what_it_does_how_long_and_how_much_stand_in_its_line() -> None:
    """118: last tool, elapsed and tokens of each, live."""
    told = child(last="read src/a.py", tokens=4200, cost=Decimal("0.01"), elapsed_ms=12_000)
    drawn = line(agents_of([told], 0.0)[0], 100, 0.0).plain
    for part in ("reader", "read src/a.py", "12s", "4.2k", "$0.01"):
        assert part in drawn
    assert "no sign of life" in line(agents_of([child(stale=True, last="read x")], 0.0)[0], 100, 0.0).plain


def test_a_sub_agents_conversation_is_no_line_of_the_list() -> None:
    state = State(now=lambda: 50.0, wall_ms=lambda: 1000)
    state.hear(StateChanged(conversation=conversation("parent", children=[child(elapsed_ms=1000)])))
    state.hear(StateChanged(conversation=conversation("child", parent="parent", state="running")))
    assert [entry.session for entry in entries_of(state)] == ["parent"]
    assert [card.session for card in cards_of(state)] == ["parent"], "nor of the page of all of them"
    assert entries_of(state)[0].state == "running", "it works, though its own turn is over"
    assert [one.id for one in state.running()] == ["parent"]
    state.opened("parent")
    assert [one.label for one in state.agents()] == ["reader"] and state.agents()[0].told == 50.0
    state.opened("child")
    assert state.agents() == () and "sub-agent of parent" in where_of(state)[1] and "Steer" in placeholder_of(state)
    state.replace([conversation("parent")])
    assert set(state.conversations) == {"parent", "child"}, "an opened one is kept while its parent is there"
    state.replace([])
    assert state.conversations == {}
