"""Sub-agents in words and lines: what a spawn asks for and what it gets, how each stands, the note about those that settled."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.config.subagents import ProfileTable, Subagents
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.children.reading import called
from thetis_kernel.gateway.children.results import capped
from thetis_kernel.gateway.spending import total
from thetis_kernel.protocol.children import ChildLine, ChildState
from thetis_kernel.protocol.events import ChildSettled, ChildStarted
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.store.folds import SessionState

LAST = 100
"""Characters of the call a line shows."""
OTHERS = 16
"""Settled children whose answers were told before and which are named all the same."""
LEAST_ANSWER = 1500
"""Bytes of each answer that are told, however many are told at once."""
ANSWERS = 36 * 1024
"""Bytes of all answers of one look together; a result in the log holds 48 KiB, and what does not fit is asked for alone."""


class Known:
    """What only this process knows of a child: when it began and when something last happened."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.started_ms = time.time_ns() // 1_000_000
        self.ended_ms = 0
        self._began = time.monotonic()
        self._ended = 0.0
        self._seen = (0, self._began)

    def ended(self) -> None:
        """It has settled."""
        self._ended, self.ended_ms = time.monotonic(), time.time_ns() // 1_000_000

    @property
    def elapsed_ms(self) -> int:
        """Until now, or until it settled."""
        return round(((self._ended or time.monotonic()) - self._began) * 1000)

    def quiet_s(self, seq: int) -> float:
        """Seconds since its log last grew, as far as somebody looked."""
        now = time.monotonic()
        if seq != self._seen[0]:
            self._seen = seq, now
        return now - self._seen[1]


class Chosen(msgspec.Struct, frozen=True):
    """What a child will run with."""

    profile: str
    mode: str
    model: str


async def chosen(arguments: dict[str, Any], parent: SessionState, settings: Subagents, modes: Modes,
                 models: Callable[[], Awaitable[list[str]]]) -> Chosen:
    """The argument before the profile before the parent's own. Raises ThetisError `bad-arguments` naming what is unknown."""
    profiles = settings.all()
    name = str(arguments.get("profile", ""))
    if name and name not in profiles:
        raise _unknown("profile", name, profiles)
    profile = profiles.get(name, ProfileTable())
    mode = str(arguments.get("mode", "")) or profile.mode or parent.mode
    if mode not in modes.known:
        raise _unknown("mode", mode, modes.known)
    known = await models()
    model = str(arguments.get("model", "")) or profile.model or parent.model or known[0]
    if model not in known:
        raise _unknown("model", model, known)
    return Chosen(profile=name, mode=mode, model=model)


def _unknown(what: str, name: str, known: Iterable[str]) -> ThetisError:
    return ThetisError(f"There is no {what} {name[:80]!r}.", code="bad-arguments",
                       hint=f"{what.capitalize()}s: " + ", ".join(known) + ".")


def unlike(label: str, others: Sequence[str]) -> str:
    """The label, with a number where another one that runs has it."""
    named, n = label, 2
    while named in others:
        named, n = f"{label} {n}", n + 1
    return named


def of_running(started: ChildStarted, state: SessionState | None, known: Known, stale_s: float) -> ChildLine:
    """A child at work; `state` None: its log is not at hand."""
    spent = total(state) if state is not None else Spent()
    last = called(state.last_call, LAST) if state is not None and state.last_call is not None else ""
    return ChildLine(
        child=started.child, label=started.label, state="running", last=last, started_ms=known.started_ms,
        elapsed_ms=known.elapsed_ms, steps=state.purse_steps if state is not None else 0, tokens=spent.tokens, cost=spent.cost,
        unpriced=spent.unpriced, mode=state.mode if state is not None else started.mode, model=started.model,
        profile=started.profile, stale=state is not None and known.quiet_s(state.seq) > stale_s)


def of_settled(settled: ChildSettled, known: Known | None) -> ChildLine:
    """A child that has ended."""
    spent = sum(settled.spent.values(), Spent())
    states: dict[str, ChildState] = {"done": "done", "cancelled": "cancelled"}
    state = states.get(settled.state, "failed")
    return ChildLine(
        child=settled.child, label=settled.label, state=state, elapsed_ms=settled.duration_ms, steps=settled.steps,
        started_ms=known.started_ms if known else 0, ended_ms=known.ended_ms if known else 0,
        tokens=spent.tokens, cost=spent.cost, unpriced=spent.unpriced,
        result=settled.result, detail=settled.detail, files=list(settled.files))


def within(told: Sequence[ChildLine], most: int) -> list[dict[str, Any]]:
    """The lines as JSON values, each answer at most `most` bytes and all together what one result can hold."""
    answers = sum(bool(one.result) for one in told)
    share = min(most, max(LEAST_ANSWER, ANSWERS // max(answers, 1)))
    shown = [msgspec.structs.replace(one, result=capped(one.result, share) if share else "") for one in told]
    return [msgspec.to_builtins(one) for one in shown]


def note(told: Sequence[ChildSettled]) -> str:
    """What a parent is told that did not ask: names and states alone; what they say is asked for."""
    named = "; ".join(f"{one.label!r} ({one.child[:8]}): {one.state}" for one in told)
    which = "A sub-agent has settled" if len(told) == 1 else "Sub-agents have settled"
    return f"{which}: {named}. agent_status shows what they answered."


def profiles(known: dict[str, ProfileTable]) -> list[dict[str, str]]:
    """The profiles as the agent is told of them."""
    return [{"id": name, "label": one.label or name, "description": one.description, "mode": one.mode, "model": one.model}
            for name, one in known.items()]
