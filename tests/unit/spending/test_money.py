"""Prices and totals: exact decimals, long prompts, and what has no price is never nothing."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.config.settings import Agent, Settings
from thetis_kernel.models.catalog import Model, merged
from thetis_kernel.models.cost import cost_of
from thetis_kernel.models.registry import FREE
from thetis_kernel.models.rehearsal import INFO
from thetis_kernel.protocol.events import Assistant, SessionStarted, Spending, TurnStarted, encode_body, kind_of
from thetis_kernel.protocol.models import ModelEntry
from thetis_kernel.protocol.spending import Spent, Usage, dollars, price_words, spent_words
from thetis_kernel.store import folds

from tests.support.logs import events

counts = st.integers(0, 10**7)
usages = st.builds(Usage, counts, counts, counts, counts)
prices = st.decimals(0, 1000, places=4)


def model(name: str) -> Model:
    return next(model for model in merged([]) if model.id == name)


@given(usages, prices, prices, prices, prices)
def test_a_call_costs_its_tokens_times_their_prices_exactly(usage: Usage, a: Decimal, b: Decimal, c: Decimal, d: Decimal) -> None:
    entry = Model("m", "p", "m", "m", price_input=a, price_output=b, price_cache_read=c, price_cache_write=d)
    found = cost_of(entry, usage)
    exact = usage.input * a + usage.output * b + usage.cache_read * c + usage.cache_write * d
    assert found is not None and found * 1_000_000 == exact


def test_a_price_that_is_needed_and_not_known_makes_the_cost_unknown() -> None:
    entry = Model("m", "p", "m", "m", price_input=Decimal(1), price_output=Decimal(2))
    assert cost_of(entry, Usage(10, 5)) == Decimal("0.00002")
    assert cost_of(entry, Usage(10, 5, cache_read=1)) is None
    assert cost_of(Model("m", "p", "m", "m"), Usage(1)) is None


def test_a_long_prompt_has_its_own_prices_for_every_token() -> None:
    haiku = model("claude-haiku-5-5")
    assert cost_of(haiku, Usage(40_000, 1_000, 60_000)) == Decimal("0.0051")
    assert cost_of(haiku, Usage(40_001, 1_000, 60_000)) == Decimal("0.0255005")


def test_prices_written_in_toml_are_what_was_written() -> None:
    entry = msgspec.convert({"id": "m", "price_input": 0.1, "price_output": 3}, ModelEntry)
    assert entry.price_input == Decimal("0.1") and entry.price_output == Decimal(3)
    for bad in (-1, float("nan"), float("inf"), 10**9):
        with pytest.raises(msgspec.ValidationError, match="price"):
            msgspec.convert({"id": "m", "price_input": bad}, ModelEntry)
    with pytest.raises(msgspec.ValidationError, match="more than 0"):
        msgspec.convert({"agent": {"max_dollars": 0}}, Settings)
    assert msgspec.convert({"max_dollars": 0.3}, Agent).max_dollars == Decimal("0.3")


def test_the_rehearsal_model_is_the_free_one() -> None:
    assert {INFO.id} == FREE


@given(st.lists(st.tuples(usages, st.none() | prices)))
def test_totals_add_up_and_survive_the_wire(calls: list[tuple[Usage, Decimal | None]]) -> None:
    spent = Spent()
    for usage, cost in calls:
        spent = spent.plus(usage, cost)
    told = [(usage, cost) for usage, cost in calls if usage.total]
    assert spent.tokens == sum(usage.total for usage, _ in told) and spent.calls == len(told)
    assert spent.cost == sum((cost for _, cost in told if cost is not None), Decimal(0))
    assert spent.unpriced == sum(usage.total for usage, cost in told if cost is None)
    assert msgspec.json.decode(msgspec.json.encode(spent), type=Spent) == spent
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(spent), type=Spent) == spent


@pytest.mark.parametrize(("amount", "words"), [
    ("0", "$0"), ("0.00004", "<$0.0001"), ("0.00085", "$0.0009"), ("0.0425", "$0.043"), ("0.9996", "$1.000"),
    ("1.205", "$1.21"), ("1234.5", "$1,234.50"),
])
def test_amounts_for_people(amount: str, words: str) -> None:
    assert dollars(Decimal(amount)) == words


def test_what_is_not_known_is_said() -> None:
    assert price_words(Spent()) == ""
    assert price_words(Spent().plus(Usage(5000, 700), None)) == "price unknown"
    mixed = Spent().plus(Usage(5000, 700), None).plus(Usage(10, estimated=True), Decimal("0.02"))
    assert price_words(mixed) == "~$0.020 + 5.7k tokens of unknown price"
    assert spent_words(Spent().plus(Usage(900, 100, 12_000), Decimal("0.5"))) == "12.9k tokens in, 100 out, $0.500"


# -- the fold

def reply(cost: str | None, name: str = "a", turn: str = "t") -> Assistant:
    price = None if cost is None else Decimal(cost)
    return Assistant([{"type": "text", "text": "x"}], model=name, usage=Usage(100, 10), turn=turn, cost=price)


def test_by_turn_by_conversation_and_by_model() -> None:
    state = folds.fold(events(
        TurnStarted("t", "agent", "a"), reply("0.1"), Spending("a", Usage(100), "abandoned", "t", Decimal("0.05")),
        TurnStarted("t2", "agent", "b", attempt=1), reply("0.2", "b", "t2"),
        TurnStarted("t3", "agent", "b"), reply(None, "b", "t3")))
    assert state.spent["a"] == Spent(2, 200, 10, cost=Decimal("0.15"))
    assert state.spent["b"] == Spent(2, 200, 20, cost=Decimal("0.2"), unpriced=110)
    assert state.turn_spent == Spent(1, 100, 10, unpriced=110)
    assert state.stats.iterations == 1 and state.stats.usage == Usage(100, 10)


def test_an_automatic_resume_goes_on_counting() -> None:
    again = TurnStarted("t2", "agent", "a", attempt=1)
    state = folds.fold(events(TurnStarted("t", "agent", "a"), reply("0.1"), again, reply("0.2")))
    assert state.turn_spent.cost == Decimal("0.3")


def test_a_fork_pays_for_itself_alone() -> None:
    started = SessionStarted("/r", "tui", "agent", "a", "conv/x", parent="p", parent_seq=2, relation="fork")
    first = TurnStarted("t", "agent", "a")
    state = folds.fold(events(first, reply("0.1"), started, first, reply("0.2")))
    assert state.spent == {"a": Spent(1, 100, 10, cost=Decimal("0.2"))}


def test_a_reply_of_an_older_version_has_no_price() -> None:
    raw = b'{"kind":"assistant","blocks":[],"model":"a","usage":{"input":7}}'
    state = folds.SessionState()
    folds.feed(state, 1, "assistant", raw)
    assert state.spent["a"].unpriced == 7
    body = reply(None)
    assert b"cost" not in encode_body(body) and kind_of(body) == "assistant"
