"""What was used, by day, model, tool and sub-agent: a fold over events."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Event,
    Spending,
    ToolInvocation,
    ToolResult,
    Usage,
    encode_body,
    kind_of,
)
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.protocol.usage import OWN, ToolLine, Usages

DAY = 86_400_000


def event(body: Body, day: int = 0) -> Event:
    return Event("ab" * 8, 2, "e", 20_000 * DAY + day * DAY + DAY // 2, kind_of(body), 1, encode_body(body))


def reply(tokens: int, cost: str | None, model: str = "m") -> Assistant:
    return Assistant(blocks=[], model=model, usage=Usage(input=tokens), cost=None if cost is None else Decimal(cost))


def test_each_table_has_all_of_it() -> None:
    usages = Usages()
    usages.begin()
    usages.feed(event(reply(10, "0.1")))
    usages.feed(event(reply(20, "0.2", "other"), day=1))
    usages.feed(event(Spending(model="m", usage=Usage(input=5), why="abandoned", cost=Decimal("0.05")), day=1))
    usages.begin("tests")
    usages.feed(event(reply(7, None)))
    assert {key: one.input for key, one in usages.model.items()} == {"m": 22, "other": 20}
    assert {key: one.input for key, one in usages.child.items()} == {OWN: 35, "tests": 7}
    assert [one.input for _, one in sorted(usages.day.items())] == [17, 25]
    assert usages.child["tests"].unpriced == 7, "what has no price is told as that, never as nothing"


def test_tools_are_counted_with_how_they_ended() -> None:
    usages = Usages()
    usages.begin()
    usages.feed(event(ToolInvocation("1", "read", {}, "x", False)))
    usages.feed(event(ToolInvocation("2", "run", {}, "x", True)))
    usages.feed(event(ToolResult("2", "error", "no", duration_ms=30)))
    usages.feed(event(ToolResult("1", "ok", "text", duration_ms=4)))
    usages.feed(event(ToolInvocation("3", "run", {}, "x", True)))  # cut
    assert usages.tool == {"read": ToolLine(1, 0, 4, 4), "run": ToolLine(2, 1, 30, 2)}


def test_call_ids_are_a_conversations_own() -> None:
    usages = Usages()
    usages.begin()
    usages.feed(event(ToolInvocation("1", "read", {}, "x", False)))
    usages.begin("child")
    usages.feed(event(ToolResult("1", "error", "whose?")))
    assert usages.tool["read"] == ToolLine(1, 0, 0, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1000), st.sampled_from(["a", "b"]), st.sampled_from(["", "x"]))))
def test_the_tables_agree(replies: list[tuple[int, int, str, str]]) -> None:
    usages = Usages()
    for day, tokens, model, child in replies:
        usages.begin(child)
        usages.feed(event(reply(tokens, "0.001", model), day))
    totals = [sum(table.values(), Spent()) for table in (usages.day, usages.model, usages.child)]
    assert totals[0] == totals[1] == totals[2]
    assert totals[0].input == sum(tokens for _, tokens, _, _ in replies)
