"""A request of ours as the body of `POST /v1/messages`: a function of the request and the model's entry alone.

The same request gives the same bytes, so a retry and the next turn meet the provider's cache. Must not know HTTP.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.models.anthropic.marks import MARK, marked
from thetis_kernel.models.catalog import Model
from thetis_kernel.models.thinking import THINKING, without_thinking
from thetis_kernel.protocol.models import ModelRequest

MIN_BUDGET = 1024
"""Tokens: the API refuses a smaller thinking budget."""


def body(request: ModelRequest, model: Model) -> dict[str, Any]:
    """The body. Whether the model thinks and whether marks are set is the entry's to say."""
    max_tokens = min(request.max_tokens, model.max_output)
    thinking = _thinking(request, model, max_tokens)
    messages = request.messages if model.thinking != "none" else without_thinking(request.messages)
    told: dict[str, Any] = {"model": model.name, "max_tokens": max_tokens, "messages": messages, "stream": True}
    if request.system:
        told["system"] = request.system
    if request.tools:
        told["tools"] = request.tools
    if thinking:
        told["thinking"] = thinking
    if model.cache:
        told["messages"] = marked(messages)
        if request.system:
            told["system"] = [{"type": "text", "text": request.system, "cache_control": MARK}]
        elif request.tools:
            told["tools"] = [*request.tools[:-1], {**request.tools[-1], "cache_control": MARK}]
    return told


def _thinking(request: ModelRequest, model: Model, max_tokens: int) -> dict[str, Any] | None:
    display = {"display": model.thinking_display} if model.thinking_display else {}
    if model.thinking == "adaptive":
        return {"type": "adaptive", **display}
    budget = min(model.thinking_budget, max_tokens // 2)
    if model.thinking == "none" or budget < MIN_BUDGET or _in_thoughtless_round(request.messages):
        return None
    return {"type": "enabled", "budget_tokens": budget, **display}


def _in_thoughtless_round(messages: list[dict[str, Any]]) -> bool:
    """Whether results follow a reply that does not begin with thinking: with a budget the API refuses to go on so."""
    if len(messages) < 2 or not any(block.get("type") == "tool_result" for block in messages[-1]["content"]):
        return False
    return messages[-2]["content"][0].get("type") not in THINKING
