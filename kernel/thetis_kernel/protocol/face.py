"""What the face host is asked: render events through a gateway guest."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.wire import Ask


class FaceEvent(msgspec.Struct, frozen=True):
    """An event as a renderer sees it: seq, kind, time, and the body's JSON."""

    seq: int
    kind: str
    ts_ms: int
    body: bytes


class RenderEvents(Ask[list[RenderedEvent]], frozen=True, tag="face.render"):
    """Render a batch with the gateway guest whose bundle (base64) is given once per key; `bundle` may be "" afterwards."""

    key: str
    events: list[FaceEvent]
    bundle: str = ""


FACE_ASKS = (RenderEvents,)
