"""Which model answers now: the one a person set for the mode, else the conversation's, else the first there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thetis_kernel.store.folds import SessionState


def model_now(state: SessionState, by_mode: Mapping[str, str], models: Sequence[str]) -> str:
    """The id. One set for a mode counts only where it is among `models`; the conversation's own is named whatever it is, so
    that a stored conversation says which model it misses."""
    chosen = by_mode.get(state.mode, "")
    return chosen if chosen in models else state.model or models[0]
