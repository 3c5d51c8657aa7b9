"""What conversations use and cost: prices applied once, when a call ends, and the limits that stand before the next one.

The log is the truth: each reply carries its tokens and its dollars as they were priced that day, and the totals are folds
over it. Must not know providers or streams.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal

import msgspec

from thetis_kernel.config.settings import Settings
from thetis_kernel.models.catalog import merged
from thetis_kernel.models.cost import cost_of
from thetis_kernel.models.registry import FREE
from thetis_kernel.protocol.spending import Spent, Usage, dollars
from thetis_kernel.store.folds import SessionState
from thetis_kernel.store.store import Store

CACHE = "spent"
"""Key of the cached total in a conversation's own cache, for lists; written at the end of each turn."""
UNTIL_SAID = "Say go on to continue, or raise it in your configuration."


class Spending:
    """Prices and limits of one root."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._limits = settings.agent
        self._models = {model.id: model for model in merged(settings.models)}
        self._store = store

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """Dollars of one call; None when the price is not known."""
        if model in FREE:
            return Decimal(0)
        entry = self._models.get(model)
        return cost_of(entry, usage) if entry is not None else None

    def reached(self, state: SessionState, model: str, turn: Spent | None = None, whole: Spent | None = None,
                whose: str = "The turn") -> str:
        """The sentence about the limit that stands before the next call of this conversation; "" when there is none.

        It names the limit and its key. A limit in money cannot be kept with a model whose price nobody knows, so such a
        call is not made either. `turn`, `whole`: what counts as the turn's and the conversation's part, if it is not `state`'s.
        """
        limits, turn, whole = self._limits, turn or state.turn_spent, whole or total(state)
        if turn.tokens >= limits.max_tokens:
            return f"{whose} reached its limit of {limits.max_tokens:,} tokens (agent.max_tokens). {UNTIL_SAID}"
        if limits.max_conversation_tokens is not None and whole.tokens >= limits.max_conversation_tokens:
            return (f"The conversation reached its limit of {limits.max_conversation_tokens:,} tokens "
                    "(agent.max_conversation_tokens). Raise it in your configuration, or begin a new conversation.")
        for key, limit in (("max_dollars", limits.max_dollars), ("max_conversation_dollars", limits.max_conversation_dollars)):
            of_turn = key == "max_dollars"
            spent = turn if of_turn else whole
            if limit is None:
                continue
            if spent.cost >= limit:
                what, way_out = (whose, UNTIL_SAID) if of_turn else (
                    "The conversation", "Raise it in your configuration, or begin a new conversation.")
                return f"{what} spent {dollars(spent.cost)} of the {dollars(limit)} it may (agent.{key}). {way_out}"
            if spent.unpriced or not self._priced(model):
                named = self._unpriced(state, model, spent)
                return (f"The limit of {dollars(limit)} (agent.{key}) cannot be kept: the price of {named} is not known. Give "
                        "its prices in [[models]] (0 for what is free), or take the limit out of your configuration.")
        return ""

    def _priced(self, model: str) -> bool:
        """Whether the price of every token a call of the model may use is known."""
        entry = self._models.get(model)
        cached = 1 if entry is not None and entry.cache else 0
        return self.cost(model, Usage(1, 1, cached, cached)) is not None

    def _unpriced(self, state: SessionState, model: str, spent: Spent) -> str:
        if not spent.unpriced:
            return model
        return ", ".join(name for name, of_model in state.spent.items() if of_model.unpriced) or model

    async def remember(self, session: str, state: SessionState) -> None:
        """Keep the total for lists. It is a cache: the log has it all."""
        raw = msgspec.json.encode(total(state))
        await asyncio.to_thread(self._store.kv_put, session, CACHE, raw)

    def remembered(self, session: str) -> Spent:
        """The total as of the end of the last turn."""
        raw = self._store.kv_get(session, CACHE)
        try:
            return msgspec.json.decode(raw, type=Spent) if raw else Spent()
        except msgspec.MsgspecError:
            return Spent()  # of another version; the next turn writes it anew


def total(state: SessionState) -> Spent:
    """Everything a conversation used, over all models."""
    return sum(state.spent.values(), Spent())
