"""Would a model provider take this request? The rules of the Messages API an agent must keep, as sentences.

Every call answered in the very next message, roles and blocks well-formed, tools valid. Pure.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.forge.schema import tool_problem


def request_problem(request: dict[str, Any]) -> str:
    """What is wrong with an `llm.complete` request, as one sentence; "" when a provider would take it."""
    if not isinstance(request.get("system", ""), str):
        return "system must be text"
    tools = request.get("tools", [])
    if not isinstance(tools, list):
        return "tools must be a list"
    for tool in tools:
        if problem := tool_problem(tool, fields=("name", "description", "input_schema")):
            return problem
    limit = request.get("max_tokens", 1)
    if not isinstance(limit, int) or limit < 1:
        return "max_tokens must be a positive number"
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages must be a list with at least one message"
    return _messages_problem(messages)


def _messages_problem(messages: list[Any]) -> str:
    open_calls: list[str] = []
    for position, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            return f"message {position} has the role {role!r}; it must be user or assistant"
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list) or not blocks or not all(isinstance(b, dict) and b.get("type") for b in blocks):
            return f"message {position} has no content"
        if any(b["type"] == "text" and not (isinstance(b.get("text"), str) and b["text"].strip()) for b in blocks):
            return f"message {position} has an empty text block"
        answered = [b.get("tool_use_id") for b in blocks if b["type"] == "tool_result"]
        if role == "user" and sorted(map(str, answered)) != sorted(open_calls):
            missing = sorted(set(open_calls) - set(map(str, answered)))
            return f"message {position} leaves the tool call {missing[0]} unanswered" if missing else (
                f"message {position} answers a tool call nobody made"
            )
        open_calls = [str(b.get("id")) for b in blocks if b["type"] == "tool_use"] if role == "assistant" else []
    if messages[0]["role"] != "user":
        return "the first message must be the user's"
    if messages[-1]["role"] != "user":
        return "the last message must be the user's"
    return ""
