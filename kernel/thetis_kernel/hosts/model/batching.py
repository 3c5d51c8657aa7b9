"""Items of running streams, sent in batches: the first at once, the others every 20 ms or 16 items.

One notice for each word would cost the channel and the screen more than the words are worth. A thread of its own sends
what has waited long enough, so that a stream that pauses never holds back what it has said. Must not know models.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from thetis_kernel import crash
from thetis_kernel.errors import PeerGone
from thetis_kernel.protocol.models import StreamItem

INTERVAL_S = 0.02
MAX_ITEMS = 16

Send = Callable[[str, list[StreamItem]], None]
"""(stream, items) to the gateway; raises PeerGone when it is gone."""


class Batch:
    """The items of one stream that wait to be sent."""

    def __init__(self, stream: str, send: Send, waits: threading.Event) -> None:
        self._stream = stream
        self._send = send
        self._waits = waits
        self._items: list[StreamItem] = []
        self._begun = False
        self._lock = threading.Lock()
        """Held while items are added, taken and sent, so that none is lost and two senders never swap them."""

    def add(self, item: StreamItem) -> None:
        """Send it, or keep it for the next batch."""
        with self._lock:
            self._items.append(item)
            first, self._begun = not self._begun, True
            if first or len(self._items) >= MAX_ITEMS:
                self._send_all()
            else:
                self._waits.set()
        if first:
            crash.point("model-host.mid-stream")

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:
            self._send_all()

    def _send_all(self) -> None:
        items, self._items = self._items, []
        if items:
            self._send(self._stream, items)


class Batches:
    """The open streams of the process and the thread that sends for them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open: set[Batch] = set()
        self._waits = threading.Event()
        """Set while some batch may hold items."""
        self._done = threading.Event()
        """Never set: a wait on it is a pause."""
        threading.Thread(target=self._run, name="model deltas", daemon=True).start()

    @contextmanager
    def opened(self, stream: str) -> Iterator[Batch]:
        """The batch of a new stream; at the end everything has been sent, before the stream's answer is."""
        batch = Batch(stream, self._send, self._waits)
        self._open.add(batch)
        try:
            yield batch
            batch.flush()
        finally:
            self._open.discard(batch)

    def _run(self) -> None:
        while True:
            self._waits.wait()
            self._done.wait(INTERVAL_S)
            self._waits.clear()
            try:
                for batch in list(self._open):
                    batch.flush()
            except PeerGone:
                return  # the process ends with its channel
