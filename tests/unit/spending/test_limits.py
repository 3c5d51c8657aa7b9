"""Limits: what stands before the next call, in a sentence that names the limit and its key."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.config.loading import load
from thetis_kernel.config.settings import Agent, Settings
from thetis_kernel.gateway.spending import Spending
from thetis_kernel.hosts.worker.imports import Inbox, agent_imports
from thetis_kernel.protocol.events import Assistant, TurnStarted
from thetis_kernel.protocol.models import ModelEntry
from thetis_kernel.protocol.spending import Usage
from thetis_kernel.store import folds
from thetis_kernel.store.store import Store

from tests.support.logs import events


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = Store.open(tmp_path)
    yield opened
    opened.close()


def spent(*costs: str | None, turns: int = 1) -> folds.SessionState:
    """A conversation of `turns` turns that each had a reply of 110 tokens for each of `costs`."""
    bodies: list[Any] = []
    for turn in range(turns):
        bodies.append(TurnStarted(f"t{turn}", "agent", "m"))
        bodies += [Assistant([], model="m", usage=Usage(100, 10), cost=None if cost is None else Decimal(cost)) for cost in costs]
    return folds.fold(events(*bodies))


def spending(store: Store, **limits: Any) -> Spending:
    priced = ModelEntry(id="m", price_input=Decimal(1), price_output=Decimal(1))
    return Spending(Settings(agent=Agent(**limits), models=[priced, ModelEntry(id="free", price_input=Decimal(0),
                    price_output=Decimal(0)), ModelEntry(id="unpriced")]), store)


@pytest.mark.parametrize(("limits", "state", "said"), [
    ({"max_tokens": 220}, spent("0.1", "0.1"), "220 tokens (agent.max_tokens)"),
    ({"max_conversation_tokens": 440}, spent("0.1", "0.1", turns=2), "440 tokens (agent.max_conversation_tokens)"),
    ({"max_dollars": Decimal("0.2")}, spent("0.1", "0.1"), "$0.200 of the $0.200 it may (agent.max_dollars)"),
    ({"max_conversation_dollars": Decimal("0.3")}, spent("0.1", "0.1", turns=2),
     "$0.400 of the $0.300 it may (agent.max_conversation_dollars)"),
])
def test_a_limit_stands_before_the_next_call(store: Store, limits: dict[str, Any], state: folds.SessionState, said: str) -> None:
    assert said in spending(store, **limits).reached(state, "m")
    for key, limit in limits.items():
        assert spending(store, **{key: limit * 3}).reached(state, "m") == ""


def test_without_limits_in_money_a_price_need_not_be_known(store: Store) -> None:
    assert spending(store).reached(spent(None), "unpriced") == ""


def test_a_limit_in_money_does_not_pass_over_what_has_no_price(store: Store) -> None:
    """An unknown price is not nothing: the call that would break the promise is not made, and the way out is said."""
    kept = spending(store, max_dollars=Decimal(1))
    before = kept.reached(spent("0.1"), "unpriced")
    assert "the price of unpriced is not known" in before and "agent.max_dollars" in before and "[[models]]" in before
    assert "the price of m is not known" in kept.reached(spent(None), "m")
    assert kept.reached(spent("0.1"), "free") == "" == kept.reached(spent("0.1"), "rehearsal") == kept.reached(spent("0.1"), "m")


async def test_what_lists_show_is_kept_beside_the_log(store: Store) -> None:
    session = "0123456789abcdef"
    kept = spending(store)
    assert kept.remembered(session).tokens == 0
    await kept.remember(session, spent("0.1"))
    assert kept.remembered(session).cost == Decimal("0.1")
    store.kv_put(session, "spent", b"{}[")
    assert kept.remembered(session).tokens == 0


def test_what_an_agent_writes_itself_settles_no_bill() -> None:
    """An agent may log a reply of its own; a negative price in it would make room below a limit."""
    written: list[Any] = []
    journal = SimpleNamespace(append=lambda body: written.append(body) or len(written))
    context: Any = SimpleNamespace(journal=journal, guests={}, cancelled=threading.Event())
    append: Any = agent_imports(context, journal, Inbox(), lambda request, record: b"{}")["session.append"]  # type: ignore[arg-type]
    append("assistant", '{"blocks": [{"type": "text", "text": "mine"}], "usage": {"output": -900}, "cost": "-5"}')
    (body,) = written
    assert body.usage == Usage() and body.cost is None and body.blocks[0]["text"] == "mine"


def test_no_repository_may_say_what_is_spent(tmp_path: Path) -> None:
    keys = {"max_tokens": 9, "max_dollars": 1000, "max_conversation_tokens": 9, "max_conversation_dollars": 1000}
    (tmp_path / "thetis.toml").write_text("[agent]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))
    loaded = load(tmp_path, tmp_path / "none.toml", environ={"THETIS_MAX_DOLLARS": "0.25"})
    assert loaded.settings.agent == Agent(max_dollars=Decimal("0.25"))
    assert [key for key in keys if not any(f"agent.{key} is ignored there" in warning for warning in loaded.warnings)] == []
