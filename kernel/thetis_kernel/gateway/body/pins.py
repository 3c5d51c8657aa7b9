"""Pins: guests of a conversation that a person keeps the agent from changing.

A pin stands in the log as state; the person goes on changing what is pinned, and the watchdog still puts back what fails:
a pin protects from the agent, not from failure. Knows the fold alone.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.errors import Refused
from thetis_kernel.store.folds import SessionState

SCOPE = "pins"
SHORT = 8


def value(revision: str) -> str:
    """How the revision a guest was pinned at stands in the log; "" takes the pin away."""
    return msgspec.json.encode(revision).decode() if revision else ""


def of(state: SessionState, aspect: str) -> str:
    """The revision at which the guest was pinned, "" when it is not."""
    text = state.values.get(SCOPE, {}).get(aspect, "")
    return str(msgspec.json.decode(text)) if text else ""


def check(state: SessionState, aspect: str, by: str) -> None:
    """Raises Refused when the agent would change a pinned guest."""
    pinned = of(state, aspect) if by == "agent" else ""
    if pinned:
        raise Refused(f"{aspect} is pinned at {pinned[:SHORT]}: the person keeps it as it is in this conversation.",
                      capability="devkit", hint=f"Ask the person. `thetis self pin {aspect} none` lets it be changed again.")
