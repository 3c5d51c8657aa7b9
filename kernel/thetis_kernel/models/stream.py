"""What a model backend is, and the guard around every one.

Owns the promises of a stream: it never raises, its last item is `Finished`, nothing follows that, and it stops soon
after it is cancelled. Must not know any provider.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, Protocol

from thetis_kernel.protocol.models import (
    End,
    Finished,
    ModelRequest,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Waiting,
)


class ModelBackend(Protocol):
    """Answers completions. Any number of streams may run at once, each on a thread of its own."""

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        """The reply as it comes. Must look at `cancel` while it waits; its last item is `Finished`.

        Failures are the `end` of that item. What escapes nevertheless is caught by `guarded`.
        """
        ...


class Received:
    """What of a reply has come so far, as blocks that may be kept: text, and calls whose arguments are whole.

    Thinking is left out: without its signature no provider takes it back. After a `Waiting` the reply starts over with the
    next thing that comes; until then what there was is all there is.
    """

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._void = False

    def take(self, item: StreamItem) -> None:
        """Remember an item."""
        if isinstance(item, Waiting):
            self._void = True
        elif self._void and isinstance(item, TextDelta | ThinkingDelta | ToolCallDelta):
            self._parts, self._calls, self._void = [], {}, False
        if isinstance(item, TextDelta):
            if not self._parts or self._parts[-1]["type"] != "text":
                self._parts.append({"type": "text", "text": ""})
            self._parts[-1]["text"] += item.text
        elif isinstance(item, ToolCallDelta):
            call = self._calls.get(item.call)
            if call is None:
                call = self._calls[item.call] = {"type": "tool_use", "id": item.call, "name": "", "json": ""}
                self._parts.append(call)
            call["name"] = call["name"] or item.name
            call["json"] += item.json

    def blocks(self) -> list[dict[str, Any]]:
        """The blocks; an empty text and a call that was cut are left out."""
        kept: list[dict[str, Any]] = []
        for part in self._parts:
            if part["type"] == "text":
                if part["text"].strip():
                    kept.append(dict(part))
                continue
            try:
                args = json.loads(part["json"] or "{}")
            except ValueError:
                continue
            if isinstance(args, dict):
                kept.append({"type": "tool_use", "id": part["id"], "name": part["name"], "input": args})
        return kept


def guarded(backend: ModelBackend, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
    """The backend's stream with its promises kept, whatever the backend does: exactly one `Finished`, the last item."""
    received = Received()
    try:
        for item in backend.stream(request, cancel):
            if isinstance(item, Finished):
                yield item
                return
            if cancel.is_set():
                break
            received.take(item)
            yield item
    except Exception as error:  # noqa: BLE001 - a stream never raises; what went wrong is its last item
        yield _cut(received, "transport", f"The model's backend failed: {type(error).__name__}: {error}", request)
        return
    if cancel.is_set():
        yield _cut(received, "cancelled", "Stopped.", request)
    else:
        yield _cut(received, "transport", "The stream ended before the reply was finished.", request)


def _cut(received: Received, end: End, detail: str, request: ModelRequest) -> Finished:
    return Finished(end=end, blocks=received.blocks(), detail=detail, model=request.model)
