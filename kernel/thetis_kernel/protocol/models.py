"""What a model is asked and how its stream answers. A stream never raises: its last item says how it ended.

Messages and blocks are those of Anthropic's Messages API (role, content blocks text, thinking, tool_use,
tool_result), which Ollama, llama.cpp, vLLM and LiteLLM speak too.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, Union

import msgspec

from thetis_kernel.protocol.events import Usage

End = Literal[
    "stop", "tool-use", "max-tokens", "refusal", "context-overflow", "rate-limited", "overloaded", "transport",
    "auth", "bad-request", "cancelled", "limit",
]
"""How a stream ended. The first four carry a reply; the others are failures, possibly with partial blocks.

limit: a limit of the person's stands in the way; nobody was asked."""

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


class Counted(msgspec.Struct, frozen=True, tag="counted"):
    """The tokens of this try so far, as the provider last said; a later one replaces it, a `Waiting` ends the try."""

    usage: Usage
    model: str = ""


class Waiting(msgspec.Struct, frozen=True, tag="waiting"):
    """The reply is asked for again in `delay_ms` because of `reason`; repeated while it is counted down.

    What has come of the reply is void as soon as something new comes: it starts over.
    """

    delay_ms: int
    reason: str
    attempt: int = 1


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """Always the last item: how it ended, the whole blocks received, final usage, and a sentence for failures.

    `retry`: asking again may help, after `retry_after_ms` when the provider named a time.
    """

    end: End
    blocks: list[dict[str, Any]]
    usage: Usage = Usage()
    detail: str = ""
    retry_after_ms: int = 0
    model: str = ""
    retry: bool = False


StreamItem = Union[TextDelta, ThinkingDelta, ToolCallDelta, Counted, Waiting, Finished]  # noqa: UP007 - a runtime Union for msgspec


class ModelInfo(msgspec.Struct, frozen=True):
    """A model a person can pick. `window` in tokens; `label` for people; `notice` is shown whenever it is in use.
    `tool_references`: definitions of tools can be deferred until a result refers to them."""

    id: str
    provider: str
    label: str
    window: int
    max_output: int = 8192
    notice: str = ""
    tool_references: bool = False


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """[[providers]]: an endpoint that speaks the Messages API.

    `key`: where its key is, `env:NAME`, `file:/absolute/path` (mode 0600) or `keyring:service/user`; "" for an endpoint
    without keys. `auth`: the header it travels in, `x-api-key` or `bearer`. `idle_seconds`: silence after which a stream
    is given up. `tool_references`: it takes `defer_loading` on tools and `tool_reference` in results, so that loading tools
    leaves what is cached as it is.
    """

    name: str
    base_url: str = ""
    key: str = ""
    auth: Literal["x-api-key", "bearer"] = "x-api-key"
    idle_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 90.0
    tool_references: bool = False


Tokens = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]
MAX_PRICE = Decimal(1_000_000)


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Dollars for a million tokens; None: not known. `above`: for requests of more tokens than that.

    TOML numbers come as floats and are taken by their shortest notation, which is what was written.
    """

    above: Tokens | None = None
    price_input: Decimal | None = None
    price_output: Decimal | None = None
    price_cache_read: Decimal | None = None
    price_cache_write: Decimal | None = None

    def __post_init__(self) -> None:
        check_prices(self.price_input, self.price_output, self.price_cache_read, self.price_cache_write)


def check_prices(*prices: Decimal | None) -> None:
    """Raise ValueError for what cannot be a price."""
    for price in prices:
        if price is not None and not (price.is_finite() and 0 <= price <= MAX_PRICE):
            raise ValueError(f"A price is between 0 and {MAX_PRICE:,} dollars for a million tokens, not {price}")


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """[[models]], of a person or of the shipped catalogue: what is not given (None) comes from the entry it overrides.

    `name` is the model's name on the wire. Prices in dollars for a million tokens, `long_prompt` for requests above a size.
    `thinking`: none, adaptive (the model decides) or budget (`thinking_budget` tokens); `thinking_display` is sent along when
    it is not "". `cache`: the endpoint knows cache_control. `pictures`, `documents`: it takes images, PDFs.
    """

    id: str
    provider: str | None = None
    name: str | None = None
    label: str | None = None
    window: Tokens | None = None
    max_output: Tokens | None = None
    price_input: Decimal | None = None
    price_output: Decimal | None = None
    price_cache_read: Decimal | None = None
    price_cache_write: Decimal | None = None
    long_prompt: Prices | None = None
    thinking: Literal["none", "adaptive", "budget"] | None = None
    thinking_budget: Tokens | None = None
    thinking_display: Literal["", "summarized", "omitted"] | None = None
    cache: bool | None = None
    pictures: bool | None = None
    documents: bool | None = None

    def __post_init__(self) -> None:
        check_prices(self.price_input, self.price_output, self.price_cache_read, self.price_cache_write)
