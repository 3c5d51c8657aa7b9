"""Which model answers: the one of the mode where a person set one that is there, else the conversation's."""

from __future__ import annotations

import pytest
from thetis_kernel.gateway.choosing import model_now
from thetis_kernel.store.folds import SessionState


@pytest.mark.parametrize(("mode", "model", "now"), [
    ("plan", "small", "large"), ("agent", "small", "small"), ("agent", "", "first"), ("ask", "small", "small"),
    ("agent", "gone", "gone"),
])  # fmt: skip
def test_the_mode_then_the_conversation_then_the_first(mode: str, model: str, now: str) -> None:
    state = SessionState(mode=mode, model=model)
    assert model_now(state, {"plan": "large", "ask": "not-there"}, ["first", "small", "large"]) == now
