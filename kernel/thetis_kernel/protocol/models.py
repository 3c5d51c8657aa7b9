"""What a model is asked and how its stream answers. A stream never raises: its last item says how it ended.

Messages and blocks are those of Anthropic's Messages API (role, content blocks text, thinking, tool_use,
tool_result), which Ollama, llama.cpp, vLLM and LiteLLM speak too.
"""

from __future__ import annotations

from typing import Any, Literal, Union

import msgspec

from thetis_kernel.protocol.events import Usage

End = Literal[
    "stop", "tool-use", "max-tokens", "refusal", "context-overflow", "rate-limited", "overloaded", "transport",
    "auth", "bad-request", "cancelled",
]
"""How a stream ended. The first four carry a reply; the others are failures, possibly with partial blocks."""

GOOD_ENDS = frozenset({"stop", "tool-use", "max-tokens", "refusal"})


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One completion: `system` is text; `tools` are {name, description, input_schema}; `max_tokens` bounds the reply."""

    model: str
    system: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = []
    max_tokens: int = 8192
    session: str = ""


class TextDelta(msgspec.Struct, frozen=True, tag="text"):
    """More of the visible reply."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, tag="thinking"):
    """More of the model's reasoning."""

    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, tag="tool-call"):
    """A tool call begins (`name` set) or its JSON arguments grow (`json`)."""

    call: str
    name: str = ""
    json: str = ""


class Waiting(msgspec.Struct, frozen=True, tag="waiting"):
    """A retry is due in `delay_ms` because of `reason`; shown as a countdown."""

    delay_ms: int
    reason: str
    attempt: int = 1


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """Always the last item: how it ended, the whole blocks received, final usage, and a sentence for failures."""

    end: End
    blocks: list[dict[str, Any]]
    usage: Usage = Usage()
    detail: str = ""
    retry_after_ms: int = 0
    model: str = ""


StreamItem = Union[TextDelta, ThinkingDelta, ToolCallDelta, Waiting, Finished]  # noqa: UP007 - a runtime Union for msgspec


class ModelInfo(msgspec.Struct, frozen=True):
    """A model a person can pick. `window` in tokens; `label` for people; `notice` is shown whenever it is in use."""

    id: str
    provider: str
    label: str
    window: int
    max_output: int = 8192
    notice: str = ""
