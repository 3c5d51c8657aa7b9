"""One provider's client, and the event loop all connections live on. Has the SDK loaded at the first use.

A loop of its own makes every wait on the network one that can be given up at once, connecting included; the threads of
streams only wait on queues. Retries, redirects and the proxy for one's own machine are off: retries are made visible
elsewhere, and a redirect would carry the key to another host. Must not know what a reply holds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from thetis_kernel.models.anthropic.loading import import_sdk
from thetis_kernel.protocol.models import Provider

if TYPE_CHECKING:
    import httpx
    from anthropic import AsyncAnthropic

FIRST_CONNECT_S = 1.5
"""To a provider that has never answered: a wrong address is told of this soon, and the sentence within 2 s."""
LEAST_CONNECT_S = 0.8
"""But never so soon that a slow line has no chance: the far side of the world answers in 0.3 s."""
CONNECT_S = 10.0
WRITE_S = 60.0
DRAIN_S = 1.0
"""After the last event the connection may end by itself this long, to be used again."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Loop:
    """The event loop, on a thread started with the first task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Run `work` there. Cancelling the future cancels it at once."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="model network", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call something there after a while."""
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(lambda: loop.call_later(seconds, call))


LOOP = Loop()


class Endpoint:
    """A provider that is reached with one key. `key` raises ModelError when there is none. Threads may share it."""

    def __init__(self, provider: Provider, key: Callable[[], str]) -> None:
        self.provider = provider
        self.reached = False
        """Whether it has ever answered anything."""
        self._key = key
        self._secret = ""
        self._lock = threading.Lock()
        self._client: AsyncAnthropic | None = None

    def client(self) -> AsyncAnthropic:
        """The SDK's client, made once. Raises ModelError without a key, and what the SDK raises for a bad address or proxy."""
        with self._lock:
            if self._client is None:
                self._secret = self._key()
                self._client = self._make(self._secret)
            return self._client

    def without_key(self, words: str) -> str:
        """`words` of a provider or of the SDK, should they repeat the key."""
        return words.replace(self._secret, "[key]") if self._secret else words

    def _make(self, key: str) -> AsyncAnthropic:
        import_sdk()

        import httpx
        from anthropic import AsyncAnthropic

        base, bearer = self.provider.base_url, self.provider.auth == "bearer"
        transport = httpx.AsyncClient(follow_redirects=False, trust_env=(urlsplit(base).hostname or "") not in _LOOPBACK)
        # Something, so that the SDK does not look into the environment; then what it is to send, which may be nothing.
        client = AsyncAnthropic(base_url=base, api_key="-", auth_token="-", max_retries=0, http_client=transport)
        client.api_key, client.auth_token = (None, key or None) if bearer else (key or None, None)
        return client

    @asynccontextmanager
    async def post(self, body: dict[str, Any], since: float) -> AsyncIterator[httpx.Response]:
        """The response to `POST /v1/messages`, its body still to come. Raises the SDK's exceptions.

        `since` (monotonic): when the person began to wait; what loading the SDK took is not waited for once more.

        Through the SDK's plain `post` and not `messages.create`: that walks the whole history against its types, 2.3 s of
        CPU for one of 2 MB in version 0.84, at every request.
        """
        import httpx
        from anthropic import AsyncStream, Omit

        client = self.client()
        first = max(LEAST_CONNECT_S, FIRST_CONNECT_S - (time.monotonic() - since))
        connect = CONNECT_S if self.reached else first
        timeout = httpx.Timeout(connect=connect, read=self.provider.idle_seconds, write=WRITE_S, pool=CONNECT_S)
        headers: dict[str, Any] = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if not client.api_key and not client.auth_token:
            headers["X-Api-Key"] = Omit()  # without a key the SDK wants it said that this is meant
        response = cast(httpx.Response, await client.post(
            "/v1/messages", cast_to=httpx.Response, content=msgspec.json.encode(body),
            options={"headers": headers, "timeout": timeout}, stream=True, stream_cls=AsyncStream[Any]))
        try:
            yield response
        finally:
            await response.aclose()
