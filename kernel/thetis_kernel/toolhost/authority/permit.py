"""The judgement every effect passes: stop, budget, mode, declaration, walls, approval, in that order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.approvals import Part, digest, hidden
from thetis_kernel.protocol.worker import AskApproval
from thetis_kernel.toolhost.authority import shell
from thetis_kernel.toolhost.authority.intended import MAX_DETAIL, Intended, Subject
from thetis_kernel.toolhost.authority.table import CALLS, EFFECTS, IMPORTS, INSISTING, Capability

if TYPE_CHECKING:
    from thetis_kernel.toolhost.context import TurnContext

MAX_EFFECTS = 10_000
"""Effects one turn may have: far more than a day's work of an agent, few enough that a loop gone wild ends."""
Wanted = Intended | Callable[[], Intended] | None


def permit(
    context: TurnContext, name: str, call: str = "", intended: Wanted = None, *, instead: Capability | None = None
) -> None:
    """Return when import or operation `name` may have its effect now; raise Refused (or WallError) with the reason when not.

    `call` is the call it happens for, "" when the agent acts by itself. `intended` is what a person would be shown, or makes
    it; without it only the name can be. Waits for the person where the mode asks; a stop ends that with code `cancelled`.
    What has no effect returns at once. `instead`: what it needs for once, where that depends on its arguments: a terminal may be
    on another machine.
    """
    capability = instead or IMPORTS.get(name) or CALLS.get(name)
    if capability is None:
        raise Refused(f"{name[:80]} is not in the table of capabilities.", capability="unknown")
    if capability not in EFFECTS:
        return
    _judge(context, capability, call)
    if capability == "exec":
        context.confine()
    asks = capability in context.place.ask
    made = (intended() if callable(intended) else intended) if asks or name in INSISTING else None
    if asks or (made is not None and made.insists):
        _ask(context, capability, call, made or Intended(what=name))
        _judge(context, capability, call)  # the mode may have changed while the person thought
    context.effects += 1


def may(context: TurnContext, capability: Capability, call: str = "") -> bool:
    """Whether effects of `capability` are possible now, perhaps after asking. Asks nobody."""
    try:
        if capability in EFFECTS:
            _judge(context, capability, call)
    except ThetisError:
        return False
    return True


def _judge(context: TurnContext, capability: Capability, call: str) -> None:
    if context.cancelled.is_set():
        raise ThetisError("The turn was stopped.", code="cancelled")
    if context.effects >= MAX_EFFECTS:
        raise Refused(f"This turn has had {MAX_EFFECTS} effects; it gets no more.", capability=capability,
                      hint="End the turn and say how far you got.")
    if context.place.read_only:
        raise Refused(
            f"This conversation is in a read-only mode: {capability} is not possible by any route.",
            capability=capability,
            hint="A person can switch the mode.",
        )
    if call in context.harmless:
        raise Refused(
            f"This tool declares that it changes nothing, so {capability} is not possible for it.",
            capability=capability,
            hint="Its manifest says mutating: false; with mutating: true it may ask.",
        )


def _ask(context: TurnContext, capability: Capability, call: str, intended: Intended) -> None:
    """Return when a person, or a rule of theirs, allows exactly this. Raises Refused with their reason."""
    if context.consent is None:
        raise Refused("This mode asks a person first, and there is nobody to ask here.", capability=capability)
    verdict = context.consent(request(context, capability, call, intended))
    if not verdict.allowed:
        if context.cancelled.is_set():
            raise ThetisError("The turn was stopped.", code="cancelled")
        if intended.insists and not verdict.asked:
            raise Refused(f"{intended.insists} A person would have to allow this, and there is nobody to ask in this run.",
                          capability=capability, hint="On a screen they are asked"
                          + (", or switch the network on with /network." if capability == "http" else "."))
        raise Refused(verdict.reason or "A person did not allow it.", capability=capability)
    if verdict.asked and intended.unchanged is not None and not intended.unchanged():
        raise Refused("What was shown to the person has changed meanwhile, so nothing was done.", capability=capability,
                      hint="Look at it again and make the call anew.")


def request(context: TurnContext, capability: Capability, call: str, intended: Intended) -> AskApproval:
    """What a person is asked: everything that will happen, as far as it can be carried, and what could be remembered of it.

    Only what is shown whole, holds nothing invisible and is understood in all its parts may be remembered.
    """
    subjects: tuple[Subject, ...] | None = shell.parts(intended.command) if intended.command else intended.subjects
    detail = intended.detail or intended.command
    tool = context.callers.get(call, "")
    where = " · ".join(part for part in (intended.where, f"by the tool {tool}" if tool else "", intended.insists) if part)
    cut = max(0, len(detail) - MAX_DETAIL)
    plain = not any(map(hidden, intended.what + where + detail))
    parts = [Part(text=s.text, rule=s.rule, session=s.session, wide=s.wide) for s in subjects or ()]
    return AskApproval(
        turn=context.turn, call=call, capability=capability, what=intended.what, where=where, detail=detail[:MAX_DETAIL],
        cut=cut, parts=parts, effect=digest(capability, intended.what, where, detail),
        rememberable=bool(parts) and plain and not cut)
