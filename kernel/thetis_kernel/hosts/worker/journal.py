"""The conversation's log as seen from the worker: the gateway's channel behind toolhost's Journal."""

from __future__ import annotations

import threading

from thetis_kernel.errors import ThetisError
from thetis_kernel.ipc.threads import ThreadPeer
from thetis_kernel.protocol.events import BlobRef, Body, encode_body, kind_of
from thetis_kernel.protocol.ids import new_event_id
from thetis_kernel.protocol.recalling import KeepProjectNote, Originals, ReadOriginals, ReadProjectNotes
from thetis_kernel.protocol.worker import MAX_PART, AppendEvent, KeepMedia, LogPage, ReadLog, ReadState


class GatewayJournal:
    """Appends and reads through the channel; each append is answered once it is durable. `child`: a sub-agent's own log."""

    def __init__(self, peer: ThreadPeer, child: str = "") -> None:
        self._peer = peer
        self._child = child
        self._uploading = threading.Lock()

    def append(self, body: Body) -> int:
        """Append one event; its seq. Raises RemoteError (store-full, lease-lost, ...) or PeerGone."""
        ask = AppendEvent(event_id=new_event_id(), kind=kind_of(body), body=encode_body(body), child=self._child)
        return self._peer.call(ask, timeout=None)

    def read(self, after: int, max_bytes: int) -> LogPage:
        """Projected events after `after`."""
        return self._peer.call(ReadLog(after=after, max_bytes=max_bytes, child=self._child))

    def keep(self, content: bytes, name: str) -> BlobRef:
        """Keep a picture or PDF as a blob; raises RemoteError when it is neither, or too large."""
        with self._uploading:
            for at in range(0, max(len(content), 1), MAX_PART):
                part = content[at : at + MAX_PART]
                last = at + MAX_PART >= len(content)
                kept = self._peer.call(KeepMedia(part=part, last=last, name=name, child=self._child), timeout=None)
        if kept is None:
            raise ThetisError("The gateway did not keep the file.")
        return kept

    def state(self, scope: str) -> dict[str, str]:
        """The fold's values of one scope: JSON text by key."""
        return self._peer.call(ReadState(scope=scope, child=self._child))

    def originals(self, first: int, last: int, max_bytes: int) -> Originals:
        """The events first..last as they were logged, compacted ones too."""
        return self._peer.call(ReadOriginals(first=first, last=last, max_bytes=max_bytes, child=self._child))

    def project_notes(self) -> dict[str, str]:
        """The notes all conversations of the root share."""
        return self._peer.call(ReadProjectNotes())

    def keep_project_note(self, key: str, content: str) -> bool:
        """Keep or forget one of them; whether one was there before."""
        return self._peer.call(KeepProjectNote(key=key, content=content))
