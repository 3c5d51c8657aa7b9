"""The seam: one reply of a provider that speaks the Messages API, as a stream that never raises.

The network talks on a loop of its own (endpoint.py) and hands over bytes; this side waits for them on a queue, looks at
`cancel` twenty times a second, and makes items of them. Must not know about retries.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

import msgspec

from thetis_kernel.errors import ModelError
from thetis_kernel.models.anthropic.assembly import Assembly
from thetis_kernel.models.anthropic.endpoint import DRAIN_S, LOOP, Endpoint
from thetis_kernel.models.anthropic.failures import Failure, not_a_stream, of_event, of_network, of_status
from thetis_kernel.models.anthropic.request import body
from thetis_kernel.models.anthropic.sse import Events, TooLong
from thetis_kernel.models.catalog import Model
from thetis_kernel.models.deferring import undeferred
from thetis_kernel.models.media import Media
from thetis_kernel.protocol.events import Usage
from thetis_kernel.protocol.models import Counted, Finished, ModelRequest, StreamItem

POLL_S = 0.05
"""Between two looks at `cancel`: a plain Event cannot be waited for beside a queue."""
CHARACTERS_A_TOKEN = 4
"""For estimates alone; providers say about this of English."""
_Item = bytes | Failure | None
"""A chunk of the stream, what broke it, or its end."""


class AnthropicBackend:
    """One model of one endpoint."""

    def __init__(self, model: Model, endpoint: Endpoint, media: Media | None = None) -> None:
        self._model = model
        self._media = media or Media("")
        self._endpoint = endpoint

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        """The reply as it comes. A failure is the last item; `retry` says whether asking again may help."""
        items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        since = time.monotonic()
        try:
            self._endpoint.client()
        except ModelError as error:
            yield self._failed(request, Assembly(), Failure("auth", f"{error.message} {error.hint}".strip()))
            return
        except Exception as error:  # noqa: BLE001 - the SDK refuses addresses and proxies with several kinds
            provider = self._endpoint.provider
            yield self._failed(request, Assembly(), Failure(
                "bad-request", f"The provider {provider.name!r} cannot be used: {error} ({type(error).__name__}). Check its "
                               f"base_url, {provider.base_url}, and the proxy."))
            return
        talking = LOOP.start(self._talk(request, items, since))
        try:
            yield from self._items(request, items, talking, cancel)
        finally:
            LOOP.later(0.0 if cancel.is_set() else DRAIN_S, talking.cancel)

    def _items(self, request: ModelRequest, items: queue.SimpleQueue[_Item], talking: Future[None],
               cancel: threading.Event) -> Iterator[StreamItem]:
        events, assembly = Events(), Assembly()
        while not assembly.over:
            if cancel.is_set():
                yield self._failed(request, assembly, Failure("cancelled", "Stopped."))
                return
            try:
                item = items.get(timeout=POLL_S)
            except queue.Empty:
                if talking.done() and items.empty():  # it died without a word: nobody must wait for one
                    break
                continue
            if isinstance(item, Failure):
                yield self._failed(request, assembly, item)
                return
            if item is None:
                break
            try:
                for data in events.feed(item):
                    for told in assembly.take(data):
                        yield Counted(told.usage, request.model) if isinstance(told, Counted) else told
            except TooLong as error:
                yield self._failed(request, assembly, Failure("transport", f"The reply cannot be read: {error}.", True))
                return
        yield self._finished(request, assembly)

    def _finished(self, request: ModelRequest, assembly: Assembly) -> Finished:
        provider = self._endpoint.provider
        if assembly.error is not None:
            return self._failed(request, assembly, of_event(provider, self._model.name, assembly.error))
        end = assembly.stop
        if end is None:
            return self._failed(request, assembly, Failure(
                "transport", f"The provider {provider.name!r} ended the stream in the middle of the reply.", True))
        if end == "context-overflow":
            return self._failed(request, assembly, Failure(
                "context-overflow", f"The conversation reached the end of the window of {self._model.label}."))
        blocks = assembly.blocks(cut=False)
        if end in ("stop", "tool-use"):  # not every server says which
            end = "tool-use" if any(block["type"] == "tool_use" for block in blocks) else "stop"
        return Finished(end=end, blocks=blocks, usage=_usage(request, assembly, cut=False), model=request.model)

    def _failed(self, request: ModelRequest, assembly: Assembly, failure: Failure) -> Finished:
        return Finished(end=failure.end, blocks=assembly.blocks(cut=True), usage=_usage(request, assembly, cut=True),
                        detail=self._endpoint.without_key(failure.detail), retry_after_ms=failure.retry_after_ms,
                        model=request.model, retry=failure.retry)

    async def _talk(self, request: ModelRequest, items: queue.SimpleQueue[_Item], since: float) -> None:
        """Runs on the network's loop; puts what comes, and in the end why nothing more does."""
        endpoint = self._endpoint
        try:
            history = await asyncio.to_thread(self._media.resolved, request.messages, self._model)
            resolved = msgspec.structs.replace(request, messages=history)
            told = body(resolved if endpoint.provider.tool_references else undeferred(resolved), self._model)
            async with endpoint.post(told, since) as response:
                endpoint.reached = True
                kind = response.headers.get("content-type", "")
                if not kind.startswith("text/event-stream"):
                    items.put(not_a_stream(endpoint.provider, kind.partition(";")[0]))
                    return
                async for chunk in response.aiter_bytes():
                    items.put(chunk)
            items.put(None)
        except Exception as error:  # noqa: BLE001 - of the SDK, httpx, TLS and the system; each is classified
            items.put(self._classified(error))

    def _classified(self, error: Exception) -> Failure:
        import anthropic
        import httpx

        endpoint = self._endpoint
        if isinstance(error, anthropic.APIStatusError):
            endpoint.reached = True
            return of_status(endpoint.provider, self._model.name, error.status_code, error.response.headers, error.body)
        if not isinstance(error, anthropic.APIConnectionError | httpx.HTTPError | httpx.StreamError | OSError):
            return Failure("transport", f"Asking the provider {endpoint.provider.name!r} failed: {type(error).__name__}: {error}")
        timeout = isinstance(error, httpx.ReadTimeout) or isinstance(error.__cause__, httpx.ReadTimeout)
        return of_network(endpoint.provider, error, endpoint.reached, idle=timeout)


def _usage(request: ModelRequest, assembly: Assembly, cut: bool) -> Usage:
    """The provider's counts; estimated where it gave none for what has come."""
    counted, blocks = assembly.usage(), assembly.blocks(cut)
    if counted is None:
        if not blocks:
            return Usage()
        told = (request.system, request.messages, request.tools)
        return Usage(input=_estimate(told), output=_estimate(blocks), estimated=True)
    if cut and not assembly.stop and blocks:  # the count in the first frame is not the final one
        return msgspec.structs.replace(counted, output=max(counted.output, _estimate(blocks)), estimated=True)
    return counted


def _estimate(value: object) -> int:
    return len(msgspec.json.encode(value)) // CHARACTERS_A_TOKEN
