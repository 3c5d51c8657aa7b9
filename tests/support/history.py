"""The rules of the Messages API for a request's history, as a checker: what a provider would reject, in sentences.

Written from the API's documented behaviour, independently of the projection, so that it can judge any request.
"""

from __future__ import annotations

import re
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ALLOWED = {"user": {"text", "tool_result"}, "assistant": {"text", "thinking", "redacted_thinking", "tool_use"}}


def violations(messages: list[dict[str, Any]]) -> list[str]:
    """Every rule `messages` breaks; an empty list is a valid history that ends in a user message."""
    if not messages:
        return ["there are no messages"]
    found: list[str] = []
    if messages[0].get("role") != "user":
        found.append("the first message is not the user's")
    if messages[-1].get("role") != "user":
        found.append("the last message is not the user's")
    seen_ids: set[str] = set()
    for at, message in enumerate(messages):
        found += [f"message {at}: {fault}" for fault in _shape(message)]
        if at and message.get("role") == messages[at - 1].get("role"):
            found.append(f"message {at}: the same role twice in a row")
        before = _ids(messages[at - 1], "tool_use", "id") if at else []
        found += [f"message {at}: {fault}" for fault in _answers(message, before)]
        for call in _ids(message, "tool_use", "id"):
            if call in seen_ids:
                found.append(f"message {at}: the call id {call} is used twice")
            seen_ids.add(call)
    return found


def check(messages: list[dict[str, Any]]) -> None:
    """Raise AssertionError naming every violation."""
    found = violations(messages)
    assert not found, "; ".join(found)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _ids(message: dict[str, Any], kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in _blocks(message) if block.get("type") == kind]


def _shape(message: dict[str, Any]) -> list[str]:
    role = message.get("role")
    if role not in _ALLOWED:
        return [f"unknown role {role!r}"]
    if set(message) != {"role", "content"}:
        return [f"fields {sorted(message)}"]
    if not _blocks(message):
        return ["no content"]
    faults: list[str] = []
    for block in _blocks(message):
        kind = block.get("type")
        if kind not in _ALLOWED[role]:
            faults.append(f"a {kind} block in a message of role {role}")
        elif kind == "text" and not (isinstance(block.get("text"), str) and block["text"].strip()):
            faults.append("an empty text block")
        elif kind == "thinking" and not (isinstance(block.get("thinking"), str) and block.get("signature")):
            faults.append("thinking without a signature")
        elif kind == "tool_use" and not (
            _ID.fullmatch(str(block.get("id")))
            and _NAME.fullmatch(str(block.get("name")))
            and isinstance(block.get("input"), dict)
        ):
            faults.append(f"a malformed call {block}")
        elif kind == "tool_result" and not (isinstance(block.get("content"), str) and block["content"].strip()):
            faults.append("an empty tool result")
    if role == "assistant" and _blocks(message)[-1].get("type") in ("thinking", "redacted_thinking"):
        faults.append("the last block is thinking")
    return faults


def _answers(message: dict[str, Any], calls: list[str]) -> list[str]:
    """A user message answers exactly the calls of the message before it, before anything else it says."""
    given = _ids(message, "tool_result", "tool_use_id")
    faults = [f"the call {call} is not answered" for call in calls if call not in given]
    faults += [f"a result for {call}, which was not called" for call in given if call not in calls]
    if len(set(given)) != len(given):
        faults.append("two results for one call")
    kinds = [block.get("type") for block in _blocks(message)]
    if "tool_result" in kinds and kinds[: len(given)] != ["tool_result"] * len(given):
        faults.append("text before a tool result")
    return faults
