"""The modes of a conversation. An id nobody knows is read-only."""

from __future__ import annotations

import msgspec


class Mode(msgspec.Struct, frozen=True):
    """`read_only`: no effect outside the conversation by any route. `prompt` is the mode's part of the system prompt."""

    id: str
    label: str
    description: str
    read_only: bool
    prompt: str


AGENT = Mode(
    id="agent",
    label="Agent",
    description="Reads, edits and runs commands on the conversation's own branch.",
    read_only=False,
    prompt="You may change files of the checkout and run commands. Make the change, check it, say what you did.",
)
PLAN = Mode(
    id="plan",
    label="Plan",
    description="Read-only: looks, thinks and proposes; changes nothing.",
    read_only=True,
    prompt=(
        "You are in a read-only mode: nothing can be changed and no command can be run, by any route. Investigate first, "
        "then give a plan: each file to change, what and why, in an order that can be followed; leave decisions that are "
        "the person's to the person. If a tool you would need is missing, name it; do not work around it."
    ),
)
MODES = {mode.id: mode for mode in (AGENT, PLAN)}


def mode(identifier: str) -> Mode:
    """The mode, or a read-only one of that name when it is unknown."""
    return MODES.get(identifier) or Mode(
        id=identifier, label=identifier, description="Unknown mode: read-only.", read_only=True, prompt=PLAN.prompt)
