"""The conversation's log as seen from the worker: the gateway's channel behind toolhost's Journal."""

from __future__ import annotations

import threading

from thetis_kernel.errors import ThetisError
from thetis_kernel.ipc.threads import ThreadPeer
from thetis_kernel.protocol.events import BlobRef, Body, encode_body, kind_of
from thetis_kernel.protocol.ids import new_event_id
from thetis_kernel.protocol.worker import MAX_PART, AppendEvent, KeepMedia, LogPage, ReadLog, ReadState


class GatewayJournal:
    """Appends and reads through the channel; each append is answered once it is durable."""

    def __init__(self, peer: ThreadPeer) -> None:
        self._peer = peer
        self._uploading = threading.Lock()

    def append(self, body: Body) -> int:
        """Append one event; its seq. Raises RemoteError (store-full, lease-lost, ...) or PeerGone."""
        ask = AppendEvent(event_id=new_event_id(), kind=kind_of(body), body=encode_body(body))
        return self._peer.call(ask, timeout=None)

    def read(self, after: int, max_bytes: int) -> LogPage:
        """Projected events after `after`."""
        return self._peer.call(ReadLog(after=after, max_bytes=max_bytes))

    def keep(self, content: bytes, name: str) -> BlobRef:
        """Keep a picture or PDF as a blob; raises RemoteError when it is neither, or too large."""
        with self._uploading:
            for at in range(0, max(len(content), 1), MAX_PART):
                part = content[at : at + MAX_PART]
                kept = self._peer.call(KeepMedia(part=part, last=at + MAX_PART >= len(content), name=name), timeout=None)
        if kept is None:
            raise ThetisError("The gateway did not keep the file.")
        return kept

    def state(self, scope: str) -> dict[str, str]:
        """The fold's values of one scope: JSON text by key."""
        return self._peer.call(ReadState(scope=scope))
