"""One purse for a conversation and its sub-agents: tokens, money, model calls and time since a person last spoke.

Looked at before each call of any of them and after it, on the folds of their logs, so that it is passed by no more than the
calls that were under way. Must not know how anybody is stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from thetis_kernel.config.settings import Settings
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.spending import UNTIL_SAID, Spending, total
from thetis_kernel.protocol.children import Purse
from thetis_kernel.store.folds import SessionState

TOGETHER = "The turn, with its sub-agents,"


class Purses:
    """The purses of all conversations of the root. `clock`: monotonic seconds."""

    def __init__(self, log: Log, spending: Spending, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._spending = spending
        self._agent = settings.agent
        self._limits = settings.subagents
        self._clock = clock
        self._begun: dict[str, tuple[str, float]] = {}
        """By conversation, the purse this process knows of and when it would have begun without a break."""

    async def of(self, home: str, model: str = "") -> Purse:
        """What a conversation and its sub-agents have used together. With `model`, whether a call of it may follow."""
        state = await self._log.state(home)
        live = [await self._log.state(child) for child in state.children]
        spent = sum((total(one) for one in live), state.purse)
        steps = state.purse_steps + sum(one.purse_steps for one in live)
        elapsed = self._elapsed(home, state)
        reached = ""
        if model:
            family = bool(live or state.settled)
            reached = self._reached(steps, elapsed) if family else ""
            reached = reached or self._spending.reached(
                state, model, spent, sum((total(one) for one in live), total(state)), TOGETHER if family else "The turn")
        return Purse(tokens=spent.tokens, cost=spent.cost, steps=steps, elapsed_ms=round(elapsed * 1000), reached=reached)

    async def reached(self, session: str, state: SessionState, model: str) -> str:
        """The sentence about the limit that stands before the next call of `session`, "" when there is none."""
        most = self._limits.max_child_tokens
        if home_of(session, state) != session and state.turn_spent.tokens >= most:
            return f"The sub-agent reached its limit of {most:,} tokens (subagents.max_child_tokens)."
        return (await self.of(home_of(session, state), model)).reached

    async def left_s(self, home: str) -> float:
        """Seconds until the purse's time is up."""
        return self._agent.max_minutes * 60 - self._elapsed(home, await self._log.state(home))

    def _elapsed(self, home: str, state: SessionState) -> float:
        """Seconds. What a process that ended had used is in the log; while none ran, nothing was used."""
        turn, begun = self._begun.get(home, (None, 0.0))
        if turn != state.purse_turn:
            begun = self._clock() - state.purse_ms / 1000
            self._begun[home] = state.purse_turn, begun
        return self._clock() - begun

    def _reached(self, steps: int, elapsed: float) -> str:
        most = max(self._limits.max_steps, self._agent.max_iterations)
        if steps >= most:
            return f"{TOGETHER} reached its limit of {most} model calls (subagents.max_steps). {UNTIL_SAID}"
        if elapsed >= self._agent.max_minutes * 60:
            return f"{TOGETHER} reached its limit of {self._agent.max_minutes:g} minutes (agent.max_minutes). {UNTIL_SAID}"
        return ""


def home_of(session: str, state: SessionState) -> str:
    """The conversation whose purse it is: a sub-agent's is its parent's."""
    started = state.started
    return started.parent if started is not None and started.relation == "child" else session
