"""Another model when one cannot answer: only a configured one, only once, and told. Must not know any provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec

from thetis_kernel.models.stream import ModelBackend
from thetis_kernel.models.thinking import without_thinking
from thetis_kernel.protocol.models import Counted, Finished, ModelRequest, StreamItem, Waiting

UNABLE = frozenset({"overloaded", "rate-limited", "transport"})
"""Ends that another model may do better at. A wrong key or a request nobody takes is told of instead."""


class Falling:
    """Asks `backend`, and the model `other` when that cannot answer. `other_backend` makes it when it is needed."""

    def __init__(self, backend: ModelBackend, other: str, other_backend: Callable[[], ModelBackend]) -> None:
        self._backend = backend
        self._other = other
        self._other_backend = other_backend

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        """The reply of one or the other; `Finished.model` says whose it is."""
        failed: Finished | None = None
        for item in self._backend.stream(request, cancel):
            if isinstance(item, Finished) and item.end in UNABLE and not cancel.is_set():
                failed = item
                break
            yield item
        if failed is None:
            return
        if failed.usage.total:
            yield Counted(failed.usage, failed.model)
        yield Waiting(delay_ms=0, reason=f"{failed.detail} Asking {self._other} instead.")
        instead = msgspec.structs.replace(request, model=self._other, messages=without_thinking(request.messages))
        for item in self._other_backend().stream(instead, cancel):
            if isinstance(item, Finished) and item.end in UNABLE:
                detail = f"{failed.detail} {self._other} could not answer either: {item.detail}"
                item = msgspec.structs.replace(item, detail=detail, blocks=item.blocks or failed.blocks)
            yield item
