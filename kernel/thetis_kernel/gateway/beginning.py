"""What may begin a turn and what may not, and where words went that were handed over. Must not know running turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from thetis_kernel.errors import ThetisError, UsageError
from thetis_kernel.protocol.events import Event
from thetis_kernel.store.folds import SessionState

if TYPE_CHECKING:
    from thetis_kernel.store.store import Store

How = Literal["turn", "nudge", "queue"]


def is_child(state: SessionState) -> bool:
    """Whether the conversation is a sub-agent's."""
    return state.started is not None and state.started.relation == "child"


def check_own(state: SessionState) -> None:
    """Raise UsageError for a sub-agent: it has one task, and its turn is begun by the conversation it belongs to."""
    if is_child(state):
        raise UsageError("This is a sub-agent, and it is not at work any more.", code="settled",
                         hint="Say it to the conversation it belongs to.")


def went(event: Event) -> How:
    """Where words that stand in the log went, now or when they were said first."""
    return "nudge" if event.kind == "nudge" else "queue" if event.kind == "queued" else "turn"


def closing() -> ThetisError:
    """Nothing new begins: the gateway is going away."""
    return ThetisError("Thetis is closing; nothing new is started.", code="closing")


def check_room(store: Store) -> None:
    """Raise when the disk has no room for a turn."""
    if not store.accepts_turns():
        raise ThetisError("The disk is nearly full; no new turn is started.", code="store-full",
                          hint="Free some space; nothing was lost, and it goes on by itself.")
