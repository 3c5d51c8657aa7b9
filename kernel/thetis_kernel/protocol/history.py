"""The rules of the Messages API for a request's history, as code: what a provider would refuse, in sentences.

Owns what a valid history is, that a person's words are in it, and that one request begins like the next. Written from the
API's documented behaviour, independently of the projection, so that it can judge any request: tests ask it, and
`thetis doctor --conversation` asks it about a real log. Must not know events, and never raises, whatever it is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

MAX_MESSAGES = 100_000
"""In one request (Messages API reference)."""
MAX_MARKS = 4
"""cache_control marks in one request (prompt caching guide)."""
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The API gives no length; Bedrock's toolUseId, behind some endpoints, has at most 64 characters."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The API takes 128 characters by now; 64 was its limit, and still is that of endpoints that imitate it."""
_MEDIA = {"image", "document"}
_KINDS = {
    "user": {"text", "tool_result", *_MEDIA},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
_THINKING = ("thinking", "redacted_thinking")
_TOLD = 60
"""Characters of foreign text in a sentence."""


def violations(messages: Any) -> list[str]:
    """Every rule `messages` breaks, a sentence each; empty for a valid history that ends with the user's message."""
    if not isinstance(messages, list) or not messages:
        return ["There are no messages."]
    found = _whole(messages)
    used: set[str] = set()
    for at, message in enumerate(messages):
        before = messages[at - 1] if at else {}
        faults = _shape(message) + _answers(message, _ids(before, "tool_use", "id"))
        if at and _role(message) == _role(before):
            faults.append("it has the role of the message before it")
        for call in _ids(message, "tool_use", "id"):
            if call in used:
                faults.append(f"the call id {_shown(call)} was used before")
            used.add(call)
        found += [f"Message {at}: {fault}." for fault in faults]
    return found


def missing(said: Iterable[str], messages: Any) -> list[str]:
    """The texts of `said` that do not stand verbatim, and in this order, in the texts of the user's messages.

    Each may be part of a longer text (an author's name or a marker before it); one text holds one of them at most.
    """
    texts = [_text(block) for message in _listed(messages) if _role(message) == "user" for block in _blocks(message)]
    lost: list[str] = []
    at = 0
    for words in said:
        found = next((place for place in range(at, len(texts)) if words in texts[place]), -1)
        if found < 0:
            lost.append(words)
        else:
            at = found + 1
    return lost


def parted(earlier: Any, later: Any) -> str:
    """Where `later` stops beginning like `earlier`, as a sentence; "" when all of `earlier` is its beginning.

    When no reply came in between, its last message may have grown at its end.
    """
    before, after = _listed(earlier), _listed(later)
    for at, message in enumerate(before):
        if at >= len(after):
            return f"The later request ends before message {at}."
        if message == after[at]:
            continue
        old, new = _blocks(message), _blocks(after[at])
        unanswered = at == len(before) - 1 == len(after) - 1
        if not unanswered or _role(message) != _role(after[at]) or new[: len(old)] != old:
            return f"The later request differs in message {at}."
    return ""


def _whole(messages: list[Any]) -> list[str]:
    """What concerns the request as a whole."""
    found: list[str] = []
    if _role(messages[0]) != "user":
        found.append("The first message is not the user's.")
    if _role(messages[-1]) != "user":
        found.append("The last message is not the user's.")
    if len(messages) > MAX_MESSAGES:
        found.append(f"There are {len(messages)} messages; a request takes {MAX_MESSAGES}.")
    marks = sum("cache_control" in block for message in messages for block in _blocks(message))
    if marks > MAX_MARKS:
        found.append(f"There are {marks} cache_control marks; a request takes {MAX_MARKS}.")
    try:
        json.dumps(messages, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        found.append("A text holds half a character (a lone surrogate), which no request can carry.")
    except (TypeError, ValueError, RecursionError) as error:
        found.append(f"It cannot be written as JSON: {_shown(str(error))}.")
    return found


def _shape(message: Any) -> list[str]:
    role = _role(message)
    if role not in _KINDS:
        return [f"the role is {_shown(role)}, not user or assistant"]
    if set(message) != {"role", "content"}:
        return [f"its fields are {', '.join(sorted(map(_shown, message)))}, not role and content"]
    content = message["content"]
    blocks = _blocks(message)
    if not blocks or not isinstance(content, list) or len(blocks) < len(content):
        return ["its content is not a list of blocks with at least one"]
    faults = [fault for block in blocks for fault in _block(role, block)]
    if role == "assistant" and blocks[-1].get("type") in _THINKING:
        faults.append("its last block is thinking")
    return faults


def _block(role: str, block: dict[str, Any]) -> list[str]:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _KINDS[role]:
        return [f"a block of type {_shown(kind)} cannot stand in the {role}'s message"]
    if kind == "text" and not _text(block).strip():
        return ["a text block is empty"]
    if kind in _THINKING and "cache_control" in block:
        return ["a thinking block has a cache_control mark"]
    if kind == "thinking" and not (isinstance(block.get("thinking"), str) and _nonempty(block.get("signature"))):
        return ["a thinking block has no signature"]
    if kind == "redacted_thinking" and not _nonempty(block.get("data")):
        return ["a redacted thinking block has no data"]
    if kind == "tool_use":
        return _call(block)
    if kind == "tool_result":
        return _result(block)
    if kind in _MEDIA and not isinstance(block.get("source"), dict):
        return [f"a block of type {kind} has no source"]
    return []


def _call(block: dict[str, Any]) -> list[str]:
    call, name = block.get("id"), block.get("name")
    faults: list[str] = []
    if not (isinstance(call, str) and _ID.fullmatch(call)):
        faults.append(f"a call has the id {_shown(call)}; 1 to 64 letters, digits, _ and - are allowed")
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        faults.append(f"a call names the tool {_shown(name)}; 1 to 64 letters, digits, _ and - are allowed")
    if not isinstance(block.get("input"), dict):
        faults.append(f"the input of the call {_shown(call)} is not an object")
    return faults


def _result(block: dict[str, Any]) -> list[str]:
    call, content = _shown(block.get("tool_use_id")), block.get("content")
    if isinstance(content, list) and content:
        items = [item for item in content if isinstance(item, dict)]
        inner = [item for item in items if item.get("type") in {"text", *_MEDIA}]
        references = [item for item in items if item.get("type") == "tool_reference" and _nonempty(item.get("tool_name"))]
        if len(inner) + len(references) < len(content):
            return [f"the result of {call} holds what no result can"]
        return [f"in the result of {call}: {fault}" for item in inner for fault in _block("user", item)]
    if not (isinstance(content, str) and content.strip()):
        return [f"the result of {call} is empty"]
    if not isinstance(block.get("is_error", False), bool):
        return [f"the result of {call} has an is_error that is neither true nor false"]
    return []


def _answers(message: Any, calls: list[str]) -> list[str]:
    """A user message answers exactly the calls of the message before it, before anything else it says."""
    given = _ids(message, "tool_result", "tool_use_id")
    faults = [
        f"it does not answer the call {_shown(call)} of the message before it" for call in calls if call not in given
    ]
    faults += [
        f"it answers {_shown(call)}, which the message before it did not call" for call in given if call not in calls
    ]
    faults += [f"it answers {_shown(call)} twice" for call in sorted(set(given)) if given.count(call) > 1]
    kinds = [block.get("type") for block in _blocks(message)]
    if "tool_result" in kinds[len(given) :]:
        faults.append("something stands before a result")
    return faults


def _listed(messages: Any) -> Sequence[Any]:
    return messages if isinstance(messages, list) else []


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def _blocks(message: Any) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _ids(message: Any, kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in _blocks(message) if block.get("type") == kind]


def _text(block: dict[str, Any]) -> str:
    found = block.get("text") if block.get("type") == "text" else None
    return found if isinstance(found, str) else ""


def _nonempty(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _TOLD else shown[: _TOLD - 3] + "..."
