"""Consent: what a worker asks for is compared with what a person allowed before, then put to the person, once.

A request is an event, so it survives this process: an answer to one that nothing waits for any more counts for the next
try of the same effect. Who may be asked depends on who began the turn; a headless run or a bridge is told no at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.rules import Rules
from thetis_kernel.protocol.approvals import USED, Decision, Part, shown
from thetis_kernel.protocol.events import Approval, SystemNote
from thetis_kernel.protocol.ids import new_turn_id
from thetis_kernel.protocol.worker import AskApproval, Verdict
from thetis_kernel.store.folds import SessionState
from thetis_kernel.toolhost.authority import Subject
from thetis_kernel.toolhost.authority.rules import covers

ALLOWING = ("allow-once", "allow-session", "allow-rule")
NOBODY = ("The mode {mode} asks a person first, and there is nobody to ask in this run. Say what you would have done; "
          "a person can go on with this conversation on a screen, or in another mode.")
DENIED = "The person said no. Do not try it in other words; go on without it, or say what you need it for."
LATER = ("Nobody has answered yet. The request stays open: when it is allowed, you are told, and can make the same call "
         "again. Go on with what needs no consent, or end your turn.")
NOW_ALLOWED = "The person has now allowed this, once; make the same call again to do it: {what}"
NOW_DENIED = "The person has said no to this: {what}"


class AskingTurn(Protocol):
    """What is needed of the turn an effect belongs to. `attended`: a person at a screen began it."""

    @property
    def id(self) -> str: ...

    @property
    def stop(self) -> asyncio.Event: ...

    @property
    def attended(self) -> bool: ...


class Approvals:
    """All open requests of the root. `resume(session)` goes on with a turn that was cut; `changed` tells of a list line."""

    def __init__(self, log: Log, rules: Rules, wait_s: float, resume: Callable[[str], Awaitable[bool]],
                 changed: Callable[[str], None]) -> None:
        self._log = log
        self._rules = rules
        self._wait_s = wait_s
        self._resume = resume
        self._changed = changed
        self._waiting: dict[tuple[str, str], asyncio.Future[str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def ask(self, session: str, turn: AskingTurn, ask: AskApproval) -> Verdict:
        """Whether the effect may happen; waits for a person where one can be asked."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            state = await self._log.state(session)
            parts = await self._compared(state, ask)
            if ask.rememberable and parts and all(part.allowed for part in parts):
                return Verdict(allowed=True)
            if ask.effect in state.granted:
                await self._log.append(session, Approval(
                    id=state.granted[ask.effect], capability=ask.capability, what=ask.what, decision=USED, effect=ask.effect,
                    call=ask.call, turn=turn.id))
                return Verdict(allowed=True, asked=True)
            if not turn.attended:
                return Verdict(allowed=False, reason=NOBODY.format(mode=state.mode))
            request = next((open_ for open_ in state.approvals.values()
                            if open_.effect == ask.effect and (session, open_.id) not in self._waiting), None)
            if request is None:
                request = _request(turn.id, ask, parts)
                await self._log.append(session, request)
            answer = self._waiting[session, request.id] = asyncio.get_running_loop().create_future()
        self._changed(session)
        try:
            decision = await self._decision(turn, answer)
        finally:
            self._waiting.pop((session, request.id), None)
            self._changed(session)
        if decision in ALLOWING:
            return Verdict(allowed=True, asked=True)
        return Verdict(allowed=False, reason=DENIED if decision == "deny" else LATER if not decision else "Stopped.", asked=True)

    async def answer(self, session: str, identifier: str, digest: str, decision: Decision) -> None:
        """A person's decision. Raises UsageError when it is not for a request as it stands, and then nothing changed."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            state = await self._log.state(session)
            request = state.approvals.get(identifier)
            if request is None:
                raise UsageError("This request is not open any more.", hint="It was answered, or its turn was stopped.")
            if digest != shown(request):
                raise UsageError("The answer is for something else than what is asked.", hint="Look at the request again.")
            if decision not in request.offers:
                raise UsageError(f"This request cannot be answered with {decision[:40]!r}.",
                                 hint="It can be answered with: " + ", ".join(request.offers) + ".")
            patterns = _remembered(request, decision)
            if decision == "allow-rule":  # first the rule: an answer that could not be kept is none
                await self._rules.add(request.capability, patterns)
            waiting = self._waiting.get((session, identifier))
            live = waiting is not None and not waiting.done()
            await self._log.append(session, Approval(
                id=identifier, capability=request.capability, what=request.what, decision=decision, by="user", patterns=patterns,
                effect=request.effect, call=request.call, turn=request.turn, live=live))
            if waiting is not None and live:
                waiting.set_result(decision)
                return
            told = NOW_ALLOWED if decision in ALLOWING else NOW_DENIED
            await self._log.append(session, SystemNote(text=told.format(what=request.what), about="approval"))
        self._changed(session)
        if decision in ALLOWING:
            await self._resume(session)

    async def open(self, session: str) -> list[Approval]:
        """The open requests of a conversation, oldest first."""
        return list((await self._log.state(session)).approvals.values())

    async def _decision(self, turn: AskingTurn, answer: asyncio.Future[str]) -> str:
        """The decision; "" when nobody answered in time, "stopped" when the turn was stopped."""
        stopped = asyncio.ensure_future(turn.stop.wait())
        try:
            await asyncio.wait((answer, stopped), timeout=self._wait_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            answer.cancel()
            return "stopped" if stopped.done() else ""
        finally:
            stopped.cancel()

    async def _compared(self, state: SessionState, ask: AskApproval) -> list[Part]:
        """The parts, each with whether it is allowed already."""
        allowed = [pattern for capability, pattern in state.grants if capability == ask.capability]
        allowed += [rule.pattern for rule in await self._rules.allowing() if rule.capability == ask.capability]
        return [_with(part, any(covers(ask.capability, pattern, Subject(part.text, wide=part.wide)) for pattern in allowed))
                for part in ask.parts]


def _with(part: Part, allowed: bool) -> Part:
    return Part(text=part.text, rule=part.rule, session=part.session, allowed=allowed, wide=part.wide)


def _request(turn: str, ask: AskApproval, parts: list[Part]) -> Approval:
    open_parts = [part for part in parts if not part.allowed]
    offers = ["allow-once"]
    if ask.rememberable and open_parts:
        offers += ["allow-session"] * all(part.session for part in open_parts)
        offers += ["allow-rule"] * all(part.rule for part in open_parts)
    return Approval(
        id=new_turn_id(), capability=ask.capability, what=ask.what, where=ask.where, detail=ask.detail, cut=ask.cut, parts=parts,
        offers=[*offers, "deny"], effect=ask.effect, call=ask.call, turn=turn)


def _remembered(request: Approval, decision: str) -> list[str]:
    found = [part.rule if decision == "allow-rule" else part.session for part in request.parts if not part.allowed]
    return list(dict.fromkeys(found)) if decision in ("allow-rule", "allow-session") else []
