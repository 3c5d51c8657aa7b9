"""A provider of the scripted server, in this process, and what its stream says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
from thetis_kernel.models.anthropic.backend import AnthropicBackend
from thetis_kernel.models.anthropic.endpoint import Endpoint
from thetis_kernel.models.catalog import Model
from thetis_kernel.models.stream import ModelBackend
from thetis_kernel.protocol.models import Finished, ModelRequest, Provider, StreamItem, TextDelta

KEY = "sk-canary-0123456789"
MODEL = Model(id="sonnet", provider="test", name="wire-sonnet", label="Sonnet", max_output=4096, thinking="adaptive", cache=True)
TOOLS = [{"name": "list", "description": "", "input_schema": {"type": "object"}}]


def said(words: str) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": [{"type": "text", "text": words}]}


REQUEST = ModelRequest(model="sonnet", system="You help.", messages=[said("hello")], tools=TOOLS)


def backend(url: str, idle: float = 20.0, key: str = KEY, auth: Any = "x-api-key", **fields: Any) -> AnthropicBackend:
    """The model at `url`; `fields` change its entry."""
    provider = Provider(name="test", base_url=url, key="env:TEST_KEY", auth=auth, idle_seconds=idle)
    return AnthropicBackend(msgspec.structs.replace(MODEL, **fields), Endpoint(provider, lambda: key))


def ask(asked: ModelBackend, request: ModelRequest = REQUEST, cancel: threading.Event | None = None) -> list[StreamItem]:
    """The whole stream."""
    return list(asked.stream(request, cancel or threading.Event()))


def last(items: list[StreamItem]) -> Finished:
    """Its last item, which is the only Finished."""
    assert isinstance(items[-1], Finished) and not any(isinstance(item, Finished) for item in items[:-1]), items
    return items[-1]


def words(items: list[StreamItem]) -> str:
    """The text deltas."""
    return "".join(item.text for item in items if isinstance(item, TextDelta))


class Sequence:
    """A backend that gives one scripted stream after another and keeps the requests."""

    def __init__(self, *streams: list[StreamItem]) -> None:
        self._streams = list(streams)
        self.requests: list[ModelRequest] = []

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        self.requests.append(request)
        yield from self._streams.pop(0)
