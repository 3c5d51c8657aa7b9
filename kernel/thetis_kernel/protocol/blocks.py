"""What a renderer makes of events: blocks of data which the screen's own widgets draw.

Everything here may come from a guest and holds text of strangers: no field is ever read as markup or control
sequences. Bounds are enforced where guests' output enters (`bounded`).
"""

from __future__ import annotations

import msgspec

MAX_BODY = 64 * 1024
MAX_BLOCKS_PER_EVENT = 16


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """One piece of the transcript.

    `kind`: user, assistant, thinking, tool, result, diff, note, incident, turn, state. `format` of `body`: markdown, text,
    code, diff. `tone`: normal, muted, good, warn, bad. `fields` are (label, value) pairs. `call` ties a result to its call.
    """

    kind: str
    seq: int = 0
    title: str = ""
    body: str = ""
    format: str = "text"
    language: str = ""
    tone: str = "normal"
    folded: bool = False
    call: str = ""
    fields: list[tuple[str, str]] = []


class RenderedEvent(msgspec.Struct, frozen=True):
    """The blocks of one event; an empty list hides it from the transcript (the event log pane still shows it)."""

    seq: int
    blocks: list[Block]


def bounded(rendered: RenderedEvent) -> RenderedEvent:
    """The same blocks, cut to the limits above, each carrying its event's seq."""
    blocks = [
        msgspec.structs.replace(b, seq=rendered.seq, title=b.title[:500], body=b.body[:MAX_BODY], fields=b.fields[:32])
        for b in rendered.blocks[:MAX_BLOCKS_PER_EVENT]
    ]
    return RenderedEvent(rendered.seq, blocks)
