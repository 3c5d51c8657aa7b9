"""What of a request the rehearsal model looks at. Must not know any instruction."""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.protocol.models import ModelRequest

NOTE_MARKER = "[system note]"
NUDGE_MARKER = "[said while you were working]"
"""How the agent marks what is not, or not only, the person's message. An agent that marks otherwise is merely answered
with the list of what is understood."""


class Done(msgspec.Struct, frozen=True):
    """A call and its result as the model was told it."""

    name: str
    args: dict[str, Any]
    text: str
    ok: bool


class Scene(msgspec.Struct, frozen=True):
    """`instruction`: the person's last words. `rounds`: the calls of each reply since, with their results.

    `calls`: how many calls the whole conversation holds, for ids that are new in it. `news`: a note of the system that is the
    last thing said, "" when something else is. `system`: the prompt of the agent that asks.
    """

    instruction: str
    rounds: list[list[Done]]
    tools: frozenset[str]
    calls: int
    news: str = ""
    system: str = ""


def scene_of(request: ModelRequest) -> Scene:
    """Read a request; strange shapes read as nothing."""
    messages = request.messages
    at, instruction = _last_words(messages)
    replies = [message for message in messages if message.get("role") == "assistant"]
    return Scene(
        instruction=instruction,
        rounds=_rounds(messages[at + 1 :]),
        tools=frozenset(str(tool.get("name", "")) for tool in request.tools),
        calls=sum(len(_blocks(reply, "tool_use")) for reply in replies),
        news=_news(messages),
        system=request.system,
    )


def _news(messages: list[dict[str, Any]]) -> str:
    said = _blocks(messages[-1], "text") if messages and messages[-1].get("role") == "user" else []
    words = str(said[-1].get("text", "")).strip() if said else ""
    return words.removeprefix(NOTE_MARKER).strip() if words.startswith(NOTE_MARKER) else ""


def _last_words(messages: list[dict[str, Any]]) -> tuple[int, str]:
    """(index of the message, the words): the newest text of a user message that is not a note of the system."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].get("role") != "user":
            continue
        for block in reversed(_blocks(messages[at], "text")):
            words = str(block.get("text", "")).strip()
            if words and not words.startswith(NOTE_MARKER):
                return at, words.removeprefix(NUDGE_MARKER).strip()
    return -1, ""


def _rounds(messages: list[dict[str, Any]]) -> list[list[Done]]:
    rounds: list[list[Done]] = []
    for at, message in enumerate(messages):
        calls = _blocks(message, "tool_use") if message.get("role") == "assistant" else []
        if not calls:
            continue
        answers = _blocks(messages[at + 1], "tool_result") if at + 1 < len(messages) else []
        by_call = {str(answer.get("tool_use_id")): answer for answer in answers}
        rounds.append([_done(call, by_call.get(str(call.get("id")), {})) for call in calls])
    return rounds


def _done(call: dict[str, Any], answer: dict[str, Any]) -> Done:
    args = call.get("input")
    return Done(
        name=str(call.get("name", "")),
        args=args if isinstance(args, dict) else {},
        text=_text(answer.get("content")),
        ok=bool(answer) and not answer.get("is_error", False),
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def _blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
