"""Deferred tools in a request, and what is sent to an endpoint that does not know them. Must not know any provider."""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.protocol.models import ModelRequest

LATER = "defer_loading"
REFERENCE = "tool_reference"


def undeferred(request: ModelRequest) -> ModelRequest:
    """The request for an endpoint without deferred tools: every definition is there at once, and results refer to none.

    The same object when nothing is deferred.
    """
    if not any(LATER in tool for tool in request.tools):
        return request
    tools = [{key: value for key, value in tool.items() if key != LATER} for tool in request.tools]
    return msgspec.structs.replace(request, tools=tools, messages=[_without(message) for message in request.messages])


def _without(message: dict[str, Any]) -> dict[str, Any]:
    content = [_result(block) for block in message["content"]]
    return message if content == message["content"] else {**message, "content": content}


def _result(block: dict[str, Any]) -> dict[str, Any]:
    inner = block.get("content")
    if block.get("type") != "tool_result" or not isinstance(inner, list):
        return block
    kept = [item for item in inner if item.get("type") != REFERENCE]
    return block if len(kept) == len(inner) else {**block, "content": kept}
