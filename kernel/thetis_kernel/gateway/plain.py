"""The renderer that is always there: every event as blocks, tersely, from its typed body.

The floor under gateway guests: it draws the first screen, what a guest left out, and everything when there is none. A
pure function that never fails: an event it cannot read is shown as its kind and raw text. How each kind looks stands
in `plain_kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thetis_kernel.gateway.plain_kinds import draw
from thetis_kernel.protocol.blocks import Block, RenderedEvent, bounded
from thetis_kernel.protocol.events import Event, Unknown

_RAW_SHOWN = 2000
"""Bytes of an unreadable body: enough to recognise it, not to bury the transcript."""


def render_plain(events: Sequence[Event]) -> list[RenderedEvent]:
    """The blocks of each event, in order; as many as `events`."""
    return [_render(event) for event in events]


def _render(event: Event) -> RenderedEvent:
    try:
        body = event.body
        blocks = _raw(event) if isinstance(body, Unknown) else draw(body)
    except (msgspec.MsgspecError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        blocks = _raw(event)  # damaged, or written by a stranger: shown as it stands
    return bounded(RenderedEvent(event.seq, blocks))


def _raw(event: Event) -> list[Block]:
    text = event.raw[:_RAW_SHOWN].decode("utf-8", "replace")
    return [Block("note", title=event.kind, body=text, format="code", language="json", tone="muted", folded=True)]
