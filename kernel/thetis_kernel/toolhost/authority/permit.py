"""The judgement every effect passes: stop, budget, mode, declaration, walls, approval, in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_kernel.errors import Refused
from thetis_kernel.toolhost.authority.intended import Intended
from thetis_kernel.toolhost.authority.table import CALLS, EFFECTS, IMPORTS, Capability

if TYPE_CHECKING:
    from thetis_kernel.toolhost.context import TurnContext

MAX_EFFECTS = 10_000
"""Effects one turn may have: far more than a day's work of an agent, few enough that a loop gone wild ends."""


def permit(context: TurnContext, name: str, call: str = "", intended: Intended | None = None) -> None:
    """Return when import or operation `name` may have its effect now; raise Refused (or WallError) with the reason when not.

    `call` is the call it happens for, "" when the agent acts by itself. `intended` is what a person would be shown; without
    it only the name can be. Waits for the person where the mode asks. What has no effect returns at once.
    """
    capability = IMPORTS.get(name) or CALLS.get(name)
    if capability is None:
        raise Refused(f"{name[:80]} is not in the table of capabilities.", capability="unknown")
    if capability not in EFFECTS:
        return
    _judge(context, capability, call)


def may(context: TurnContext, capability: Capability, call: str = "") -> bool:
    """Whether effects of `capability` are possible now, perhaps after asking. Asks nobody."""
    try:
        if capability in EFFECTS:
            _judge(context, capability, call)
    except Refused:
        return False
    return True


def _judge(context: TurnContext, capability: Capability, call: str) -> None:
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
