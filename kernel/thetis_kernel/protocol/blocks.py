"""What a renderer makes of events: blocks of data which the screen's own widgets draw.

Everything here may come from a guest and holds text of strangers: no field is ever read as markup or control
sequences. Bounds are enforced, and control characters taken out, where guests' output enters (`bounded`).
"""

from __future__ import annotations

import re

import msgspec

from thetis_kernel.protocol.cutting import head
from thetis_kernel.protocol.plaintext import clean_line, clean_text

MAX_BODY = 64 * 1024
MAX_BLOCKS_PER_EVENT = 16
MAX_LINE = 500
MAX_VALUE = 2000
MAX_FIELDS = 32
KINDS = frozenset({"user", "assistant", "thinking", "tool", "result", "diff", "note", "incident", "turn", "state"})
FORMATS = frozenset({"markdown", "text", "code", "diff"})
TONES = frozenset({"normal", "muted", "good", "warn", "bad"})
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{0,32}")


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
    """The same blocks, cut to the limits above, of known words only, free of control characters, each carrying its
    event's seq. Doing it twice changes nothing."""
    return RenderedEvent(rendered.seq, [_bounded(b, rendered.seq) for b in rendered.blocks[:MAX_BLOCKS_PER_EVENT]])


def _bounded(block: Block, seq: int) -> Block:
    return Block(
        kind=block.kind if block.kind in KINDS else "note",
        seq=seq,
        title=head(clean_line(head(block.title, 2 * MAX_LINE)), MAX_LINE).rstrip(),
        body=head(clean_text(head(block.body, 2 * MAX_BODY)), MAX_BODY),
        format=block.format if block.format in FORMATS else "text",
        language=block.language if _LANGUAGE.fullmatch(block.language) else "",
        tone=block.tone if block.tone in TONES else "normal",
        folded=block.folded,
        call=clean_line(block.call[:200]),
        fields=[
            (head(clean_line(head(label, 200)), 80).rstrip(), head(clean_text(head(value, 2 * MAX_VALUE)), MAX_VALUE))
            for label, value in block.fields[:MAX_FIELDS]
        ],
    )
