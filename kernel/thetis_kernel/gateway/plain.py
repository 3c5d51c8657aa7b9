"""The renderer that is always there: every event as blocks, tersely, from its typed body.

The floor under gateway guests: it draws the first screen, what a guest left out, and everything when there is none. A
pure function that never fails: an event it cannot read is shown as its kind and raw text. Text comes out clean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.blocks import Block, RenderedEvent, bounded
from thetis_kernel.protocol.cleaning import clean

_RAW_SHOWN = 2000
_VALUE_SHOWN = 300
_FOLD_LINES = 12


def render_plain(events: Sequence[ev.Event]) -> list[RenderedEvent]:
    """The blocks of each event, in order; same length as `events`."""
    return [_render(event) for event in events]


def _render(event: ev.Event) -> RenderedEvent:
    try:
        body = event.body
        drawn = _unknown(body.kind, body.raw) if isinstance(body, ev.Unknown) else _DRAW[type(body)](body)
    except (msgspec.MsgspecError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        drawn = _unknown(event.kind, event.raw)  # a damaged or hostile body is shown as it stands
    return clean(bounded(RenderedEvent(event.seq, drawn)))


def _unknown(kind: str, raw: bytes) -> list[Block]:
    text = raw[:_RAW_SHOWN].decode("utf-8", "replace")
    return [Block("note", title=kind, body=text, format="code", language="json", tone="muted", folded=True)]
